"""Warnings and errors that a user may want to catch by name, and the way to warn."""

from __future__ import annotations

import sys
import warnings
from os import sep
from pathlib import Path
from types import FrameType

OURS = f"{Path(__file__).parent}{sep}"
BETWEEN = ("sklearn.", "joblib.", "dask.", "distributed.", "contextlib.", "functools.")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the line of the user who called us, however deep we are.

    That is the first frame outside of this package and of those that call it in between.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_between(frame.f_globals.get("__name__", ""), frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_between(module: str, frame: FrameType) -> bool:
    inside = frame.f_code.co_filename.startswith(OURS)
    return inside or f"{module}.".startswith(BETWEEN)


class NothingToCompareError(ValueError):
    """Labels or groups do not differ enough for any comparison; harmless without a constraint."""


class UnreachableEpsilonError(ValueError):
    """No model of this kind meets the constraint."""


class InputError(ValueError):
    """A file or an option is wrong; the message says what, where and what to do."""


class InactiveConstraintWarning(UserWarning):
    """The plain model meets the constraint already, so fairness changed nothing."""


class ConstantModelWarning(UserWarning):
    """The constraint leaves nothing but the same prediction for everybody."""


class OutsideBinsWarning(UserWarning):
    """Some values lie in no bin and are left out of a fairness figure."""


class SkippedComparisonWarning(UserWarning):
    """A class has no rows in some group, so the constraint says nothing about it there."""


class ShiftedBinsWarning(UserWarning):
    """Quantiles of the first chunk of a stream are none of all its rows."""
