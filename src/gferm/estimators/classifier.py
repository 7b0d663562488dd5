"""FairClassifier: classification under a fairness constraint, as a scikit-learn estimator.

Two classes make one model, more of them one model each against the rest. All models share the
cells, the contrasts and the factorisation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Options, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from gferm.arrays import Array
from gferm.arrays.foreign import back_to
from gferm.estimators.base import FairModel
from gferm.estimators.export import as_classifier
from gferm.estimators.training import TrainingData, read_label
from gferm.exceptions import SkippedComparisonWarning
from gferm.fairness.bins import Bins
from gferm.fairness.cells import Cells, SensitiveBins
from gferm.fairness.constraint import Contrasts
from gferm.losses import CLASSIFICATION_LOSSES, LOSSES, Loss, as_loss
from gferm.solver.choice import LIBSVM, SOLVERS, SolverChoice
from gferm.solver.projection import Solution

ClassBins = str | int | Sequence[Hashable] | Bins


def _has_probabilities(model: FairClassifier) -> bool:
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
        Kernel expansions, (n_models, n_samples), and training rows; for all other kernels.
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

    _losses: ClassVar[tuple[str, ...]] = CLASSIFICATION_LOSSES
    _label_checks: ClassVar[dict[str, Any]] = {"y_numeric": False}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FairModel._parameter_constraints,
        "y_bins": [StrOptions({"classes"}), Options(Integral, {1}), "array-like", Bins],
        "solver": [StrOptions({*SOLVERS, LIBSVM})],
    }

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        kernel: str | Callable[..., float] = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "uniform",
        alpha: float = 1.0,
        epsilon: float | None = 0.0,
        epsilon_scale: str = "mean",
        y_bins: ClassBins = "classes",
        s_bins: SensitiveBins = "auto",
        intersectional: bool = True,
        match: str = "prediction",
        min_cell_size: int = 1,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 5000,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            n_landmarks=n_landmarks,
            landmarks=landmarks,
            alpha=alpha,
            epsilon=epsilon,
            epsilon_scale=epsilon_scale,
            y_bins=y_bins,
            s_bins=s_bins,
            intersectional=intersectional,
            match=match,
            min_cell_size=min_cell_size,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            device=device,
            random_state=random_state,
        )

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairClassifier:
        """Learn the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, or the kernel matrix for kernel="precomputed".
        y : array of shape (n_samples,)
            Class of each row: numbers or words.
        sensitive_features : array, Series, data frame or dict of columns
            The sensitive attributes, one row per sample; required unless epsilon is None.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the risk and of the cell means.

        Returns
        -------
        self : FairClassifier
        """
        self._fit(X, y, sensitive_features, sample_weight)
        _report_what_is_not_compared(self)
        return self

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
        decisions: Array = back_to(self._decisions(X), X)
        return decisions

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict classes; the sensitive attributes are not needed.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        classes: npt.NDArray[Any] = back_to(self._answers(self._predict_models(X)), X)
        return classes

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
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
        decisions = self._decisions(X)
        if decisions.ndim == 1:
            shares: Array = np.column_stack([expit(-decisions), expit(decisions)])
        else:  # shares of the sum, in logarithms: far from every class all of them underflow
            shares = np.asarray(softmax(log_expit(decisions), axis=1))
        answers: Array = back_to(shares, X)
        return answers

    def _decisions(self, X: Any) -> Array:
        decisions = self._predict_models(X)
        return np.asarray(decisions[0] if len(decisions) == 1 else decisions.T)

    def to_sklearn(self) -> Any:
        """Return the same predictor as a plain scikit-learn object, so serving needs no gferm.

        Returns
        -------
        LogisticRegression, LinearSVC, RidgeClassifier, OneVsRestClassifier or Pipeline
            By the loss. A kernel model is a Pipeline of the kernel expansion (Nystroem) and one
            of these.
        """
        check_is_fitted(self)
        return as_classifier(self, as_loss(self.loss, self._losses))

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[TrainingData, Cells | None, Contrasts | None]:
        data, cells, contrasts = super()._read(X, y, sensitive_features, sample_weight)
        if contrasts is not None and self.match == "residual" and np.unique(data.y).size > 2:
            raise ValueError(
                "match='residual' compares f − y with y = ±1, which more than two classes do not "
                "have; use match='prediction'."
            )
        return data, cells, contrasts

    def _check_labels(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        given, y = y, read_label(y)
        if given.dtype.kind == "O" and y.dtype.kind == "U":
            _require_words(given)
        kind, classes = type_of_target(y, input_name="y"), np.unique(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Unknown label type: {kind}. y has {classes.size} different values such as "
                f"{classes.tolist()[0]!r}, which are no classes. Use FairRegressor to learn "
                "numbers, or cut y into classes first."
            )
        check_classification_targets(y)  # warns of more classes than half the rows
        if classes.size < 2:
            raise ValueError(
                f"y has one class, {classes.tolist()}: there is nothing to tell apart. Check "
                "y, and sample_weight if there is one."
            )
        return y

    def _targets(self, y: npt.NDArray[Any]) -> list[Array]:
        classes = np.unique(y)
        positive = classes[1:] if classes.size == 2 else classes
        return [np.where(y == label, 1.0, -1.0) for label in positive]

    def _label_bins(self, y: npt.NDArray[Any]) -> Any:
        classes = np.unique(y).tolist()
        if isinstance(self.y_bins, (Integral, Bins)):
            return self.y_bins
        if isinstance(self.y_bins, str):
            return Bins.categories(classes)
        named = np.asarray(self.y_bins).tolist()
        unknown = [label for label in named if label not in classes]
        if unknown:
            raise ValueError(f"y_bins names {unknown}, but the classes of y are {classes}.")
        return Bins.categories(named)

    def _answers(self, values: Array) -> npt.NDArray[Any]:
        one = values.shape[-2] == 1
        best = (values[..., 0, :] > 0).astype(int) if one else values.argmax(axis=-2)
        return np.asarray(self.classes_[best])

    def _shape(self, values: Array) -> Any:
        """One row a model, also when there is one, as scikit-learn has it."""
        return values

    def _accept(
        self,
        data: TrainingData,
        cells: Cells | None,
        contrasts: Contrasts | None,
        choice: SolverChoice,
        solutions: Sequence[Solution],
    ) -> None:
        super()._accept(data, cells, contrasts, choice, solutions)
        self.classes_ = np.unique(data.y)


def _require_words(y: npt.NDArray[Any]) -> None:
    """Refuse objects that would come back from `predict` as something else."""
    others = [value for value in y if not isinstance(value, str)]
    if others:
        raise ValueError(
            f"Unknown label type: unknown. y has classes that are neither all words nor all "
            f"numbers, such as {others[0]!r}; convert y first, for example with y.astype(str)."
        )


def _report_what_is_not_compared(model: FairClassifier) -> None:
    """Warn where the constraint says nothing: a group without rows of a class, a class left out."""
    cells, contrasts = model.cells_, model.contrasts_
    if cells is None or contrasts is None or model.epsilon is None:
        return
    missing = [
        f"{label!r} in group {part.groups[group]!r}"
        for part in cells.partitions
        for label, counts in zip(cells.label_bins.labels, part.counts, strict=True)
        for group in np.unique(part.codes[part.codes >= 0])
        if counts[group] == 0
    ]
    alone = [repr(block.label_bin) for block in contrasts.blocks if not block.size]
    sentences = []
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        sentences.append(
            f"There are no rows of class {', '.join(missing[:5])}{more}: these cells are compared "
            "with nobody."
        )
    if alone:
        sentences.append(
            f"Class {', '.join(sorted(set(alone)))} is not constrained at all: at most one of its "
            f"groups has min_cell_size={model.min_cell_size} rows."
        )
    if sentences:
        warnings.warn(
            f"{' '.join(sentences)} Merge groups with s_bins, or see contrasts_.skipped.",
            SkippedComparisonWarning,
            stacklevel=4,
        )
