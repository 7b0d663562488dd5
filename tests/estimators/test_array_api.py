"""Arrays of other libraries teach the same model, and answers come back as what was asked with."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from gferm import (
    FairClassifier,
    FairClassifierCV,
    FairKernelProjection,
    FairProjection,
    FairRegressor,
    FairRegressorCV,
    certificate,
    frontier,
)
from tests.array_libraries import LIBRARIES, numpy_of, tensor

FORMS = {
    "kernel": {"gamma": 0.1},
    "linear": {"kernel": "linear"},
    "landmarks": {"gamma": 0.1, "n_landmarks": 15, "random_state": 0},
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture(params=[False, True], ids=["", "dispatch"])
def dispatch(request, monkeypatch):
    """scikit-learn's own support of these arrays, which must change nothing."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=request.param):
        yield


def came_back(answer, like, expected, **tolerance):
    """The same values in the same library on the same device."""
    assert type(answer) is type(like)
    assert answer.device == like.device
    np.testing.assert_allclose(numpy_of(answer), expected, **tolerance or {"rtol": 1e-12})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("dispatch")
def test_a_regressor_is_the_same(form, library, problem):
    X, y, s, X_new, weight = problem
    given = {"sensitive_features": s, "sample_weight": weight}
    options = FORMS[form] | {"y_bins": 2, "device": "cpu"}
    expected = FairRegressor(**options).fit(X, y, **given)
    foreign = {name: library(values) for name, values in given.items()}
    found = FairRegressor(**options).fit(library(X), library(y), **foreign)
    np.testing.assert_array_equal(found.multipliers_, expected.multipliers_)
    came_back(found.predict(library(X_new)), library(X_new), expected.predict(X_new))
    assert type(found.predict(X_new)) is np.ndarray
    for name in ("coef_", "dual_coef_", "X_fit_", "multipliers_"):
        assert type(getattr(found, name, np.empty(0))) is np.ndarray


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("dispatch")
def test_a_classifier_is_the_same(form, library, ternary):
    X, names, s, X_new, _ = ternary
    y = np.unique(names, return_inverse=True)[1]
    options = FORMS[form] | {"loss": "log_loss", "epsilon": 0.05}
    expected = FairClassifier(**options).fit(X, y, sensitive_features=s)
    found = FairClassifier(**options).fit(library(X), library(y), sensitive_features=library(s))
    like = library(X_new)
    close = {"rtol": 1e-6, "atol": 1e-6}  # a GPU computes on its own
    came_back(found.predict(like), like, expected.predict(X_new))
    came_back(found.decision_function(like), like, expected.decision_function(X_new), **close)
    came_back(found.predict_proba(like), like, expected.predict_proba(X_new), **close)
    assert type(found.classes_) is np.ndarray


@pytest.mark.usefixtures("dispatch")
def test_classes_that_are_words_stay_with_numpy(library, binary):
    X, y, s, X_new, _ = binary
    expected = FairClassifier(gamma=0.1).fit(X, y, sensitive_features=s).predict(X_new)
    model = FairClassifier(gamma=0.1, device="cpu")
    found = model.fit(library(X), y, sensitive_features=library(s)).predict(library(X_new))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("dispatch")
def test_classes_may_be_true_and_false(library, binary):
    X, y, s, X_new, _ = binary
    expected = FairClassifier(gamma=0.1).fit(X, y == "yes", sensitive_features=s).predict(X_new)
    model = FairClassifier(gamma=0.1, device="cpu")
    model.fit(library(X), library(y == "yes"), sensitive_features=library(s))
    came_back(model.predict(library(X_new)), library(X_new), expected)
    assert "bool" in str(model.predict(library(X_new)).dtype)


@pytest.mark.parametrize("kind", ["float32", "int64", "bool"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("dispatch")
def test_numbers_of_every_type(form, kind, library, problem):
    """As NumPy's of the same type; a kernel takes doubles, the linear one float32 as they are."""
    X, y, s, X_new, _ = problem
    X, X_new = (values.round(0).astype(kind) for values in (X, X_new))
    y = y.round(0).astype("float32" if kind == "float32" else "int64")
    options = FORMS[form] | {"n_landmarks": None, "device": "cpu", "y_bins": 2}
    expected = FairRegressor(**options).fit(X, y, sensitive_features=s)
    found = FairRegressor(**options).fit(library(X), library(y), sensitive_features=library(s))
    like = library(X_new)
    came_back(found.predict(like), like, expected.predict(X_new))
    assert "float64" in str(found.predict(like).dtype)


@pytest.mark.usefixtures("dispatch")
def test_each_argument_may_be_of_another_kind(library, problem):
    X, y, s, _, weight = problem
    expected = FairRegressor(gamma=0.1).fit(X, y, sensitive_features=s, sample_weight=weight)
    frame = pd.DataFrame({"s": s}, index=np.arange(70) + 7)
    mixtures = [
        (library(X), y, pd.Series(s), library(weight)),
        (X, library(y), frame, weight.tolist()),
        (pd.DataFrame(X), library(y), {"s": library(s)}, library(weight)),
        (X, y, library(s[:, None]), library(weight)),
        (library(X), pd.Series(y), library(s), weight),
    ]
    for rows, labels, sensitive, weights in mixtures:
        given = {"sensitive_features": sensitive, "sample_weight": weights}
        model = FairRegressor(gamma=0.1, device="cpu").fit(rows, labels, **given)
        np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-9)


@pytest.mark.usefixtures("dispatch")
def test_several_attributes_in_one_array(library, problem):
    X, y, s, _, weight = problem
    both = np.column_stack([s, weight > 1.5]).astype(np.int64)
    expected = FairRegressor(gamma=0.1, y_bins=2).fit(X, y, sensitive_features=both)
    model = FairRegressor(gamma=0.1, y_bins=2, device="cpu")
    model.fit(library(X), y, sensitive_features=library(both))
    np.testing.assert_allclose(model.multipliers_, expected.multipliers_, rtol=1e-12)


@pytest.mark.usefixtures("dispatch")
def test_landmarks_and_a_kernel_matrix_may_be_of_them(library, problem):
    X, y, s, X_new, _ = problem
    expected = FairRegressor(gamma=0.1, landmarks=X[:9]).fit(X, y, sensitive_features=s)
    given = FairRegressor(gamma=0.1, landmarks=library(X[:9]), device="cpu")
    given.fit(library(X), library(y), sensitive_features=s)
    np.testing.assert_allclose(given.predict(X_new), expected.predict(X_new), rtol=1e-12)
    K, K_new = X @ X.T, X_new @ X.T
    expected = FairRegressor(kernel="precomputed").fit(K, y, sensitive_features=s)
    given = FairRegressor(kernel="precomputed", device="cpu")
    given.fit(library(K), library(y), sensitive_features=library(s))
    came_back(given.predict(library(K_new)), library(K_new), expected.predict(K_new))


@pytest.mark.usefixtures("dispatch")
def test_chunks_may_be_of_them(library, problem):
    X, y, s, X_new, weight = problem
    options = {"kernel": "linear", "y_bins": [-20, 0, 20]}
    expected = FairRegressor(**options).fit(X, y, sensitive_features=s, sample_weight=weight)
    model = FairRegressor(**options)
    for rows in (slice(0, 30), slice(30, 70)):
        given = {"sensitive_features": library(s[rows]), "sample_weight": library(weight[rows])}
        model.partial_fit(library(X[rows]), library(y[rows]), **given)
    came_back(model.predict(library(X_new)), library(X_new), expected.predict(X_new), rtol=1e-9)


@pytest.mark.usefixtures("dispatch")
def test_a_search_takes_them_with_groups(library, problem):
    X, y, s, X_new, weight = problem
    groups = np.arange(70) // 7
    options = {"alphas": [0.1, 1.0], "gammas": [0.1], "epsilons": [0.0, 0.02], "y_bins": 2}
    options |= {"cv": GroupKFold(3), "device": "cpu"}
    given = {"sensitive_features": s, "sample_weight": weight, "groups": groups}
    expected = FairRegressorCV(**options).fit(X, y, **given)
    foreign = {name: library(values) for name, values in given.items()}
    found = FairRegressorCV(**options).fit(library(X), library(y), **foreign)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_error"], expected.cv_results_["mean_test_error"]
    )
    came_back(found.predict(library(X_new)), library(X_new), expected.predict(X_new))


@pytest.mark.usefixtures("dispatch")
def test_a_search_of_classes_takes_them(library, binary):
    X, names, s, X_new, _ = binary
    options = {"loss": "squared", "alphas": [1.0], "gammas": [0.1], "cv": 3, "device": "cpu"}
    y = (names == "yes").astype(int)
    expected = FairClassifierCV(**options).fit(X, y, sensitive_features=s)
    found = FairClassifierCV(**options)
    found.fit(library(X), library(y), sensitive_features=library(s))
    came_back(found.predict(library(X_new)), library(X_new), expected.predict(X_new))
    like = library(X_new)
    came_back(found.decision_function(like), like, expected.decision_function(X_new))


@pytest.mark.usefixtures("dispatch")
def test_a_frontier_is_the_same(library, problem):
    X, y, s, *_ = problem
    options = {"gamma": 0.1, "device": "cpu"}
    expected = frontier(X, y, sensitive_features=s, **options)
    found = frontier(library(X), library(y), sensitive_features=library(s), **options)
    np.testing.assert_array_equal(found.epsilons, expected.epsilons)


def test_a_model_learns_from_torch_tensors_without_touching_their_gradient(problem):
    X = tensor(problem.X).requires_grad_()
    model = FairRegressor(gamma=0.1).fit(X, problem.y, sensitive_features=problem.s)
    assert X.grad is None
    assert not model.predict(X).requires_grad


def test_mistakes_are_named_as_with_numpy(library, problem):
    X, y, s, *_ = problem
    with pytest.raises(ValueError, match="has 69 rows but there are 70 samples"):
        FairRegressor().fit(library(X), y, sensitive_features=library(s[:69]))
    holes = s.astype(float)
    holes[3] = np.nan
    with pytest.raises(ValueError, match="missing or infinite values, the first in row 3"):
        FairRegressor().fit(library(X), library(y), sensitive_features=library(holes))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FairRegressor().fit(library(X), library(y[:60]), sensitive_features=library(s))
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        FairRegressor().fit(library(broken), library(y), sensitive_features=library(s))


@pytest.mark.parametrize(
    "transformer",
    [FairProjection(y_bins=2), FairKernelProjection(gamma=0.1, y_bins=2)],
    ids=lambda transformer: type(transformer).__name__,
)
@pytest.mark.usefixtures("dispatch")
def test_a_representation_is_the_same(transformer, library, problem):
    X, y, s, X_new, weight = problem
    expected = clone(transformer).fit(X, y, sensitive_features=s, sample_weight=weight)
    given = {"sensitive_features": library(s), "sample_weight": library(weight)}
    found = clone(transformer).fit(library(X), library(y), **given)
    came_back(found.transform(library(X_new)), library(X_new), expected.transform(X_new))


@pytest.mark.usefixtures("dispatch")
def test_a_certificate_is_the_same(library, problem):
    X, y, s, _, _ = problem
    model = FairRegressor(kernel="linear", y_bins=1, device="cpu").fit(X, y, sensitive_features=s)
    expected = certificate(model, X, y, sensitive_features=s)
    found = certificate(model, library(X), library(y), sensitive_features=library(s))
    assert str(found) == str(expected)
