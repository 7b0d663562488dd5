"""Warnings and errors that a user may want to catch by name."""

from __future__ import annotations


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


class ExperimentError(ValueError):
    """An experiment cannot go on; the message says why and what to do."""
