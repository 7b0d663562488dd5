"""Hypothesis explores at a desk and repeats itself in continuous integration."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
