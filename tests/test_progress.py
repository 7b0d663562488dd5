"""Progress goes to stderr when asked for: a bar of rich, else lines."""

import re
import sys

import pytest

from gferm.progress import progress


def advance_by(steps, total, *, show=True):
    with progress(total, "models judged", show=show) as advance:
        for step in steps:
            advance(step)


@pytest.fixture(params=["terminal", "log", "without rich"])
def look(request, monkeypatch):
    if request.param == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")
    if request.param == "without rich":
        monkeypatch.setitem(sys.modules, "rich", None)
    return request.param


def test_nothing_is_shown_unless_asked_for(look, capsys):
    advance_by([1, 2], 3, show=False)
    assert capsys.readouterr() == ("", "")


def test_the_end_is_reached_on_stderr(look, capsys):
    advance_by([4, 3, 5], 12)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "models judged" in shown.err
    assert "12/12" in shown.err


def test_an_error_inside_comes_through_and_shows_how_far_it_came(look, capsys):
    with pytest.raises(TypeError):
        advance_by([1, None], 2)
    assert "1/2" in capsys.readouterr().err


def test_two_bars_may_be_open_at_once(look, capsys):
    with progress(1, "outer", show=True) as outer:
        advance_by([1], 1)
        outer(1)
    assert "outer" in capsys.readouterr().err


@pytest.mark.parametrize("total", [3, 10, 237])
def test_without_rich_there_are_at_most_ten_lines(total, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich", None)
    advance_by([1] * total, total)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == min(total, 10)
    form = rf"models judged: \d+/{total}, \d+ s, about \d+ s left"
    assert all(re.fullmatch(form, line) for line in lines)
    assert lines[-1].startswith(f"models judged: {total}/{total}, ")
    assert lines[-1].endswith("about 0 s left")


def test_a_log_has_lines_and_a_terminal_a_bar(look, capsys):
    advance_by([1] * 20, 20)
    shown = capsys.readouterr().err
    assert ("━" in shown) == (look == "terminal")
    assert ("about 0 s left" in shown) == (look != "terminal")
