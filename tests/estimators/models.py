"""Every loss in its estimator, and problems of classes for them."""

import numpy as np

from gferm import FairClassifier, FairRegressor
from gferm.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES

ROBUST_LOSSES = tuple(loss for loss in REGRESSION_LOSSES if loss != "squared")

# name: the estimator and its loss; the square loss of FairRegressor has its own tests
LEARNERS = {f"{loss} of classes": (FairClassifier, loss) for loss in CLASSIFICATION_LOSSES}
LEARNERS |= {f"{loss} of numbers": (FairRegressor, loss) for loss in ROBUST_LOSSES}


def learner(name, **options):
    """An estimator that compares people in two label bins: of numbers, or the two classes."""
    kind, loss = LEARNERS[name]
    defaults = {"alpha": 0.3, "gamma": 0.1} | ({"y_bins": 2} if kind is FairRegressor else {})
    return kind(**{"loss": loss} | defaults | options)


def labels_for(name, problem):
    """The numbers of a problem, or "yes" and "no" for those above and below their median."""
    if LEARNERS[name][0] is FairRegressor:
        return problem.y
    return np.where(problem.y > np.median(problem.y), "yes", "no")


def values(model, X):
    """What is constrained: decisions or predictions, one column a model."""
    f = model.decision_function(X) if isinstance(model, FairClassifier) else model.predict(X)
    return f.reshape(X.shape[0], -1)
