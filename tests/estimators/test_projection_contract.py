"""Fair transformers keep scikit-learn's contract and let routing carry s to them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from gferm import FairKernelProjection, FairProjection

both = pytest.mark.parametrize("transformer", [FairProjection, FairKernelProjection])


class LinearByParity(FairProjection):
    """Reads s off the rows of X, because scikit-learn's checks know of no s."""

    def fit(self, X, y, *, sample_weight=None):
        s = parity(X)
        return super().fit(X, y, sensitive_features=s, sample_weight=sample_weight)


class KernelByParity(FairKernelProjection):
    def fit(self, X, y, *, sample_weight=None):
        return super().fit(X, y, sensitive_features=parity(X), sample_weight=sample_weight)

    def fit_transform(self, X, y=None, *, sample_weight=None):
        s = parity(X)
        return super().fit_transform(X, y, sensitive_features=s, sample_weight=sample_weight)


def parity(rows):
    rows = check_array(rows, accept_sparse="csr")
    size = np.abs(np.asarray(rows.sum(axis=1)).ravel())
    return np.floor(7 * size) % 2  # both groups occur in every check's data, integers too


def not_for_a_kernel_matrix(estimator):
    """Checks for a width that does not depend on the number of training rows."""
    reason = "a row given twice has two columns in a kernel matrix"
    kinds = ("dense", "sparse") if isinstance(estimator, KernelByParity) else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


CHECKED = [
    LinearByParity(y_bins=1),
    *(KernelByParity(kernel, y_bins=1) for kernel in ("rbf", "linear", "polynomial", "chi2")),
]


# Some checks fit rows that are all alike, or one feature.
@pytest.mark.filterwarnings("ignore::gferm.exceptions.ConstantModelWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=not_for_a_kernel_matrix)
def test_transformers_pass_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or the array API check is skipped
    check(estimator)


@both
def test_clones_and_pickles_learn_and_give_the_same(problem, transformer):
    projection = transformer(y_bins=3, min_cell_size=2, intersectional=False)
    Z = projection.fit_transform(problem.X, problem.y, sensitive_features=problem.s)
    twin, back = clone(projection), pickle.loads(pickle.dumps(projection))
    assert twin.get_params() == projection.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)
    twin.fit(problem.X, problem.y, sensitive_features=problem.s)
    for other in (twin, back):
        np.testing.assert_allclose(other.transform(problem.X), Z, atol=1e-12)


@both
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_names_come_out_and_frames_if_asked_for(problem, transformer, container):
    rows = pd.DataFrame(problem.X, columns=list("abcde"), index=range(7, 77))
    s = pd.Series(problem.s, index=rows.index)
    projection = transformer(y_bins=2).set_output(transform=container)
    Z = projection.fit_transform(rows, problem.y, sensitive_features=s)
    names = list(projection.get_feature_names_out())
    if transformer is FairProjection:
        assert names == list("abcde")
    else:
        assert names == [f"fairkernelprojection{i}" for i in range(70)]
    assert list(Z.columns) == names
    assert type(Z).__module__.startswith(container)
    array = clone(projection).set_output(transform="default")
    array.fit(rows, problem.y, sensitive_features=s)
    np.testing.assert_allclose(Z.to_numpy(), array.transform(rows), atol=1e-12)
    assert list(projection.feature_names_in_) == list("abcde")
    if container == "pandas":
        assert Z.index.equals(rows.index)


def largest_gap(projection, f, y, s):
    return np.abs(projection.contrasts_.gaps(f, y, s)).max()


REQUEST = {"sensitive_features": True}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def machine_after(transformer):
    if transformer is FairProjection:
        projection, machine = FairProjection(y_bins=2), Ridge(alpha=0.3)
    else:
        projection = FairKernelProjection(gamma=0.2, y_bins=2)
        machine = KernelRidge(kernel="precomputed", alpha=0.3)
    return make_pipeline(StandardScaler(), projection.set_fit_request(**REQUEST), machine)


@both
@pytest.mark.usefixtures("routing")
def test_routing_takes_s_through_a_pipeline_into_every_fold(problem, transformer):
    pipeline, cv = machine_after(transformer), KFold(4, shuffle=True, random_state=3)
    s = np.where(problem.s == 1, "b", "a")
    routed = cross_val_predict(
        pipeline, problem.X, problem.y, cv=cv, params={"sensitive_features": s}
    )
    for train, test in cv.split(problem.X):
        scaler = StandardScaler().fit(problem.X[train])
        _, projection, ridge = (clone(step) for _, step in pipeline.steps)
        Z = projection.fit_transform(
            scaler.transform(problem.X[train]), problem.y[train], sensitive_features=s[train]
        )
        ridge.fit(Z, problem.y[train])
        assert largest_gap(projection, ridge.predict(Z), problem.y[train], s[train]) <= 1e-9
        expected = ridge.predict(projection.transform(scaler.transform(problem.X[test])))
        np.testing.assert_allclose(routed[test], expected, rtol=1e-9, atol=1e-9)


@both
@pytest.mark.usefixtures("routing")
def test_a_grid_search_over_a_pipeline_tunes_both_steps(problem, transformer):
    pipeline = machine_after(transformer)
    step, last = (name for name, _ in pipeline.steps[1:])
    grid = {f"{step}__y_bins": [1, 2], f"{last}__alpha": [0.1, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise")
    search.fit(problem.X, problem.y, sensitive_features=problem.s)
    f = search.predict(problem.X)
    assert largest_gap(search.best_estimator_[1], f, problem.y, problem.s) <= 1e-9


@pytest.mark.usefixtures("routing")
def test_a_precomputed_kernel_is_cut_on_both_sides(problem):
    def held_out(kernel, rows):
        projection = FairKernelProjection(kernel, gamma=0.2, y_bins=2).set_fit_request(**REQUEST)
        pipeline = make_pipeline(projection, KernelRidge(kernel="precomputed", alpha=0.3))
        params = {"sensitive_features": problem.s}
        return cross_val_predict(pipeline, rows, problem.y, cv=KFold(4), params=params)

    given = held_out("precomputed", rbf_kernel(problem.X, gamma=0.2))
    np.testing.assert_allclose(given, held_out("rbf", problem.X), rtol=1e-8, atol=1e-8)
