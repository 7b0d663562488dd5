"""Choosing among settings by error and unfairness together."""

from gferm.model_selection.classifier_cv import FairClassifierCV
from gferm.model_selection.regressor_cv import FairRegressorCV
from gferm.model_selection.rules import fairest_within, lowest_error, pareto_set

__all__ = ["FairClassifierCV", "FairRegressorCV", "fairest_within", "lowest_error", "pareto_set"]
