"""Names are written as they are, and groups are told apart."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from gferm.plotting.style import as_text, group_style


@pytest.mark.parametrize("name", ["<b>$x_1$", "$5 to $10", "a$b", r"\$x$"])
def test_names_are_no_formulas(name):
    figure, ax = plt.subplots()
    drawn, plain = ax.text(0, 0, as_text(name)), ax.text(0, 0, name, parse_math=False)
    figure.canvas.draw()
    np.testing.assert_allclose(drawn.get_window_extent(), plain.get_window_extent())


def test_names_with_an_underscore_are_in_the_legend():
    _, ax = plt.subplots()
    ax.plot([0, 1], label=as_text("_other"))
    assert [label.strip() for label in ax.get_legend_handles_labels()[1]] == ["_other"]


def test_long_names_keep_their_ends():
    name = "intersection of a first attribute × and of quite another second attribute × [0.5, 1]"
    text = as_text(name, 20)
    assert text.startswith("intersection of a")
    assert text.endswith("[0.5, 1]")
    assert max(map(len, text.split("\n"))) <= 24
    assert as_text("short name") == "short name"


def test_fifty_groups_look_different():
    looks = {tuple(group_style(q).values()) for q in range(50)}
    assert len(looks) == 50
    assert len({group_style(q)["marker"] for q in range(7)}) == 7  # without colours, too
