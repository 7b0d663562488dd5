"""Audits: whether a predictor is fair, where not, and whether that is more than noise."""

from gferm.auditing.audit import audit
from gferm.auditing.records import Cell, Chance, Figure, Gap, Statement
from gferm.auditing.result import Audit

__all__ = ["Audit", "Cell", "Chance", "Figure", "Gap", "Statement", "audit"]
