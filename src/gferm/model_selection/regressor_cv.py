"""FairRegressorCV: the settings of FairRegressor, chosen by error and fairness together."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import RegressorMixin

from gferm.estimators.base import FairModel
from gferm.estimators.regressor import FairRegressor
from gferm.model_selection.search import FairSearch


class FairRegressorCV(RegressorMixin, FairSearch):  # type: ignore[misc]
    """FairRegressor with its settings chosen by cross-validation, for error and fairness.

    Tries every alpha and epsilon, and every kernel of the grids, on held-out folds; by default
    chooses as the paper does (NVP): the fairest of the settings with nearly the lowest error. The
    figures are exactly those of refitting every setting on every fold.

    Parameters
    ----------
    loss : str or gferm.losses.Loss, default="squared"
        As in `FairRegressor`. The square loss is exact and never refitted: one eigendecomposition
        serves all settings of a kernel and all folds. Other losses are learned fold by fold.
    alphas : list of float, default=None
        Strengths of the regularisation. By default those of the paper, seventeen from 1e-4 to
        1e4.
    gammas : list of float or None, default=None
        Values of the kernel's gamma; None is the kernel's own default.
    epsilons : list of float or None, default=(0.0,)
        How much unfairness is allowed, in units of y; None is the model without a constraint.
    kernel : str or callable, default="rbf"
        As in `FairRegressor`.
    kernel_grid : dict or list of dict, default=None
        Other values of kernel, gamma, degree, coef0 and kernel_params to try, as GridSearchCV's
        ``param_grid``.
    degree, coef0, kernel_params
        Parameters of the kernel, where the grids do not name them.
    n_landmarks, landmarks
        As in `FairRegressor`; the points are the same in every fold.
    epsilon_scale, y_bins, s_bins, intersectional, match, min_cell_size, fit_intercept
        As in `FairRegressor`. Bins are settled once, on all rows, so every fold compares the same
        groups.
    tol, max_iter
        As in `FairRegressor`.
    cv : int, splitter or iterable of (train, test), default=None
        Folds, as in GridSearchCV; None is five.
    scoring : str or scorer, default=None
        What error means; by default the mean absolute error.
        Scorers of errors ("neg_…") give error = −score, others error = 1 − score. A scorer of
        one's own may ask the model for its answers, but is given its outputs in place of X.
    unfairness : str or callable, default="auto"
        "dgf", "general_fairness", "loss_general_fairness", "mean_distance",
        "equalized_odds_difference", or a callable (y_true, y_pred, *, sensitive_features) that
        is 0 for a fair model. "auto" is "dgf", or "mean_distance" where ``y_bins`` is one bin.
    selection : {"nvp", "error"} or callable, default="nvp"
        "nvp": of the settings whose error is at most best / (1 − tolerance), the fairest.
        "error": the lowest error. A callable takes ``cv_results_`` and gives an index.
    tolerance : float, default=0.1
        Of "nvp".
    device : {"cpu", "cuda"} or None, default=None
        Where kernels, their factorisation and sums over rows are computed. None is where X is: a
        GPU if it is a torch tensor on one, else the CPU. A kernel matrix that is too large for the
        GPU is factorised from memory, block by block.
    random_state : int, RandomState or None, default=None
        Of the choice of landmarks.
    n_jobs : int, default=None
        Processes, through joblib; with its dask backend the workers of a cluster. A task is a
        kernel, or a fold of it where the loss has no closed form.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in GridSearchCV: ``params``, ``param_…``, and ``mean_test_…``, ``std_test_…``,
        ``rank_test_…``, ``split0_test_…`` and so on for "error" and for the unfairness (its name,
        such as "dgf"); both better when smaller. ``n_test_dgf`` counts the folds that had
        somebody to compare; ``split0_dropped_pairs`` the pairs of groups that the training part
        of a fold could not compare.
    best_index_, best_params_, best_error_, best_unfairness_
        The chosen setting.
    best_estimator_ : FairRegressor
        Fitted on all rows with it.
    pareto_ : array of int
        Settings that no other one beats in error without losing in fairness, by error.
    rule_ : callable
        What chose: `fairest_within` for "nvp".
    unfairness_ : str
        What is measured.
    n_splits_ : int
    n_iter_ : int
        Of the chosen model.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from gferm import FairRegressorCV
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    >>> search = FairRegressorCV(gammas=[0.01, 0.1], epsilons=[0, 0.1, None], y_bins=3)
    >>> search = search.fit(X, y, sensitive_features=s)
    >>> len(search.cv_results_["params"])  # 2 gammas, 17 alphas, 3 epsilons
    102
    >>> sorted(search.best_params_)
    ['alpha', 'epsilon', 'gamma']
    """

    model: ClassVar[type[FairModel]] = FairRegressor
    default_scoring: ClassVar[str] = "neg_mean_absolute_error"
