"""FairClassifier: classification under a fairness constraint, as a scikit-learn estimator.

Two classes make one model, more of them one model each against the rest. All models share the
cells, the contrasts and the factorisation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Options, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gferm.arrays import Array
from gferm.arrays.foreign import back_to
from gferm.estimators.base import FairModel, model_values
from gferm.estimators.export import as_classifier
from gferm.estimators.labels import ClassLabels, Labels
from gferm.fairness.bins import Bins
from gferm.losses import CLASSIFICATION_LOSSES, LOSSES, as_loss
from gferm.solver.choice import LIBSVM, SOLVERS

ClassBins = str | int | Sequence[Hashable] | Bins


def has_probabilities(model: Any) -> bool:
    """Return whether there is a predict_proba; else an AttributeError."""
    if as_loss(model.loss, CLASSIFICATION_LOSSES) == LOSSES["log_loss"]:
        return True
    raise AttributeError(
        f"loss={model.loss!r} gives no probabilities; use loss='log_loss', or calibrate with "
        "CalibratedClassifierCV."
    )


class FairClassifier(ClassifierMixin, FairModel):  # type: ignore[misc]
    """Kernel or linear classification with a bound on group differences.

    Minimises ``Σ ℓ(y, f(x)) + alpha ‖w‖²`` over decision functions ``f(x) = ⟨w, φ(x)⟩ + b``, with
    y = ±1, subject to: within every class, the mean decision of any two sensitive groups differs,
    on average over the compared pairs, by at most ``epsilon``. A duality gap proves the optimum.

    Parameters
    ----------
    loss : str or gferm.losses.Loss, default="hinge"
        "hinge" (support vector machine), "squared_hinge", "log_loss" (logistic regression, with
        probabilities) or "squared".
    kernel : str or callable, default="rbf"
        Any kernel of scikit-learn's KernelRidge, a callable, or "precomputed". "linear" is solved
        in the features and never forms an n×n matrix when there are more rows than features.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel, as in KernelRidge.
    n_landmarks, landmarks
        Nyström's method, as in `FairRegressor`.
    alpha : float, default=1.0
        Strength of the regularisation, the paper's λ; positive, but for loss="squared". SVC and
        LogisticRegression call it C = 1/(2 alpha).
    epsilon : float or None, default=0.0
        How much unfairness is allowed, in units of the decision function; 0 asks for equal means
        in every cell. None switches the constraint off, and only then may ``sensitive_features``
        be left out of `fit`.
    epsilon_scale : {"mean", "sum"}, default="mean"
        "mean": epsilon bounds the mean |gap| over compared pairs. "sum": the paper's sum over
        label bins and ordered pairs.
    y_bins : "classes", 1, list of classes or Bins, default="classes"
        Within which classes groups are compared. "classes": within each of them (equalized
        odds). A list names some, such as ``["hired"]`` (equal opportunity). 1: whole groups,
        whatever their class (demographic parity).
    s_bins, intersectional, min_cell_size
        Groups of the sensitive attributes, as in `FairRegressor`.
    match : {"prediction", "residual"}, default="prediction"
        Which cell means must agree: those of f, or of f − y with y = ±1 (two classes only). They
        differ only for y_bins=1: within a class y is constant.
    fit_intercept : bool, default=True
        Whether to add an unpenalised intercept.
    solver : {"auto", "cholesky", "spectrum", "refined", "libsvm"}, default="auto"
        `gferm.solver.choose_solver` tells what "auto" means. "refined" is a Cholesky factor in
        float32 with the digits of float64 restored by iterations.
    tol : float, default=1e-6
        The relative duality gap at which iterations stop; one above this is a
        ConvergenceWarning.
    max_iter : int, default=5000
        Most iterations of splitting or Newton steps. The square loss needs none, and libsvm has a
        limit of its own.
    device : {"cpu", "cuda"} or None, default=None
        Where kernels, their factorisation and sums over rows are computed. None is where X is: a
        GPU if it is a torch tensor on one, else the CPU. A kernel matrix that is too large for the
        GPU is factorised from memory, block by block.
    random_state : int, RandomState or None, default=None
        Of the choice of landmarks; nothing else is random.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_models, n_features)
        Weights of the features; only for kernel="linear". One model for two classes, else one for
        each class.
    dual_coef_, X_fit_ : arrays
        Kernel expansions, (n_models, n_samples or landmarks), and training rows, or landmarks; for
        all other kernels.
    intercept_ : array of shape (n_models,)
    multipliers_ : array of shape (n_models, m)
        Marginal cost of each contrast.
    cells_, contrasts_
        Who was compared with whom, with counts; see `FairRegressor`.
    violation_ : float
        The constraint's left-hand side reached on the training rows, of the worst model.
    active_ : bool
        False when the plain model already meets the constraint.
    objective_ : float
        Sum over the models.
    duality_gap_ : float
        Relative bound on the distance from the optimum, of the worst model.
    n_iter_ : int
        Most iterations of any model.
    solver_ : SolverChoice
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from gferm import FairClassifier
    >>> from gferm.datasets import make_fair_classification
    >>> X, y, s = make_fair_classification(300, random_state=0, return_X_y=True)
    >>> model = FairClassifier("log_loss", kernel="linear").fit(X, y, sensitive_features=s)
    >>> f = model.decision_function(X)
    >>> positive = y == model.classes_[1]
    >>> means = [f[positive & (s == group)].mean() for group in (0, 1)]
    >>> bool(abs(means[0] - means[1]) < 1e-9)
    True
    """

    labels: ClassVar[Labels] = ClassLabels()
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FairModel._parameter_constraints,
        "y_bins": [StrOptions({"classes"}), Options(Integral, {1}), "array-like", Bins],
        "solver": [StrOptions({*SOLVERS, LIBSVM})],
    }

    def __init__(
        self, loss: Any = "hinge", *, y_bins: ClassBins = "classes", **parameters: Any
    ) -> None:
        super().__init__(loss, y_bins=y_bins, **parameters)

    def decision_function(self, X: Any) -> Array:
        """Return f(x): positive for the second of two classes; one column a class for more.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            For kernel="precomputed", the kernel between these and the training rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        decisions: Array = back_to(_decisions(self, X), X)
        return decisions

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class; only for loss="log_loss".

        For more than two classes those of the models against the rest are scaled to sum to one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        decisions = _decisions(self, X)
        if decisions.ndim == 1:
            shares: Array = np.column_stack([expit(-decisions), expit(decisions)])
        else:  # shares of the sum, in logarithms: far from every class all of them underflow
            shares = np.asarray(softmax(log_expit(decisions), axis=1))
        answers: Array = back_to(shares, X)
        return answers

    def to_sklearn(self) -> Any:
        """Return the same predictor as a plain scikit-learn object, so serving needs no gferm.

        Returns
        -------
        LogisticRegression, LinearSVC, RidgeClassifier, OneVsRestClassifier or Pipeline
            By the loss. A kernel model is a Pipeline of the kernel expansion (Nystroem) and one
            of these.
        """
        check_is_fitted(self)
        return as_classifier(self, as_loss(self.loss, self.labels.losses))


def _decisions(model: FairClassifier, X: Any) -> Array:
    decisions = model_values(model, X)
    return np.asarray(decisions[0] if len(decisions) == 1 else decisions.T)
