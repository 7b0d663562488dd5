"""The settings of a search are those of scikit-learn's ParameterGrid, in its order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid

from gferm.model_selection.grid import PAPER_ALPHAS, read_grid

numbers = st.lists(st.floats(0, 10), min_size=1, max_size=3, unique=True)
epsilons = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=3, unique=True)
kernel_grids = st.dictionaries(
    st.sampled_from(["kernel", "degree", "coef0", "gamma", "kernel_params"]), numbers, max_size=3
)


def settings_by_kernel(grid):
    """Multiply out as the search computes: kernels, then alphas, then epsilons."""
    return [
        {**kernel, "alpha": alpha, "epsilon": epsilon}
        for kernel in grid.kernels
        for alpha in grid.shared.alphas
        for epsilon in grid.shared.epsilons
    ]


@given(numbers, epsilons, st.lists(kernel_grids, min_size=1, max_size=3))
def test_the_order_is_that_of_a_parameter_grid(alphas, epsilons, kernel_grids):
    grid = read_grid(alphas, None, epsilons, kernel_grids)
    whole = [{**one, "alpha": alphas, "epsilon": epsilons} for one in kernel_grids]
    assert grid.params == list(ParameterGrid(whole))
    settings = settings_by_kernel(grid)
    assert [settings[place] for place in grid.order] == grid.params
    assert sorted(grid.order) == list(range(len(settings)))


@given(numbers, numbers, epsilons)
def test_gammas_are_a_kernel_grid_of_their_own(alphas, gammas, epsilons):
    one = read_grid(alphas, gammas, epsilons, None)
    other = read_grid(alphas, None, epsilons, {"gamma": gammas})
    assert (one.params, one.order, one.kernels) == (other.params, other.order, other.kernels)
    both = read_grid(alphas, gammas, epsilons, {"degree": [2]})
    assert both.kernels == [{"degree": 2, "gamma": gamma} for gamma in gammas]


def test_any_container_of_numbers_will_do():
    expected = read_grid([0.5, 1.0], None, [0.0, None], None).params
    for alphas in ((0.5, 1), np.array([0.5, 1.0]), iter([0.5, 1]), np.float32([0.5, 1.0])):
        grid = read_grid(alphas, None, (0, None), None)
        assert grid.params == expected
        assert all(type(setting["alpha"]) is float for setting in grid.params)


def test_dictionaries_and_functions_are_values_too():
    def kernel(a, b):
        return 1.0

    kernels = {"kernel": [kernel, "rbf"], "kernel_params": [{"a": np.ones(2)}, {"a": np.ones(2)}]}
    grid = read_grid([1], None, [0], kernels)
    assert len(grid.kernels) == 4  # arrays cannot be told apart, so none is dropped
    assert grid.kernels[0]["kernel"] is kernel


def test_the_paper_has_seventeen_alphas():
    assert len(PAPER_ALPHAS) == 17
    assert read_grid(None, None, [0], None).shared.alphas.tolist() == list(PAPER_ALPHAS)


def test_one_warning_tells_of_everything_that_is_twice():
    with pytest.warns(UserWarning, match="more than once") as caught:
        grid = read_grid([1, 1], [2, 2.0], [None, None], [{"degree": [3, 3]}, {"degree": [3, 3]}])
    assert len(caught) == 1
    for part in (
        "alphas has [1.0]",
        "gammas has [2.0]",
        "epsilons has [None]",
        "['degree'] has [3]",
    ):
        assert part in str(caught[0].message)
    assert len(grid.params) == 2
