"""The statistical guarantee of a fitted model: the paper's theorem, and held-out intervals.

certificate.py is the way in. theorem.py, which rests on rademacher.py and ball.py, bounds risk and
unfairness from the rows of training; held_out.py, with concentration.py and cell_intervals.py, from
rows that the model never saw, which is the part to use. A bound that excludes nothing says so.
"""

from gferm.bounds.certificate import Certificate, certificate

__all__ = ["Certificate", "certificate"]
