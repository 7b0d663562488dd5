"""The statistical guarantee of a fitted model: the paper's theorem, and held-out intervals.

certificate.py is the way in. theorem.py and what it rests on (rademacher.py, ball.py,
loss_on_ball.py, cell_sums.py) bound risk and unfairness from the rows of training; held_out.py
(concentration.py, cell_intervals.py, pair_gaps.py) from rows that the model never saw, which is the
part to use. A bound that excludes nothing says so.
"""

from gferm.bounds.certificate import Certificate, certificate

__all__ = ["Certificate", "certificate"]
