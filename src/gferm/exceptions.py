"""Warnings and errors that a user may want to catch by name."""

from __future__ import annotations

from gferm.solver.projection import UnreachableEpsilonError

__all__ = ["InactiveConstraintWarning", "OutsideBinsWarning", "UnreachableEpsilonError"]


class InactiveConstraintWarning(UserWarning):
    """The plain model meets the constraint already, so fairness changed nothing."""


class OutsideBinsWarning(UserWarning):
    """Some values lie in no bin and are left out of a fairness figure."""
