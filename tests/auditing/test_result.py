"""An audit as tables, JSON, text and HTML: nothing is lost, and names stay names."""

import json
from dataclasses import fields
from html.parser import HTMLParser
from importlib import import_module
from io import StringIO
from math import isnan

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import gferm
from gferm.auditing import Cell, Figure
from gferm.auditing.presentation import heading, printed_tables
from tests.auditing.cases import CASES, EDGES, QUICK, Case, letters, make_numbers

NONE = {"n_boot": 0, "n_permutations": 0}
TABLES = ("cells", "groups", "figures", "gaps")
NASTY = ["<script>alert(1)</script>", "[red]b[/red]", "a & b", '"quoted"']


def nasty():
    y, f, s = make_numbers(n_groups=4)
    columns = {"<b>sex</b>": np.array(NASTY)[s], "[bold]x[/bold]": letters(s % 2)}
    return Case(y, f, columns, bins={"y_bins": EDGES, "intersectional": False})


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def printed(audit, width):
    file = StringIO()
    Console(file=file, width=width).print(audit)
    return file.getvalue()


@pytest.mark.parametrize("what", TABLES)
@pytest.mark.parametrize("case", ["two groups", "empty cells", "three classes", "weights"])
def test_tables_have_the_same_columns_with_and_without_draws(case, what):
    case = CASES[case]()
    full, bare = (case.audit(**options).to_frame(what) for options in (QUICK, NONE))
    assert list(full.columns) == list(bare.columns)
    assert len(full) == len(bare) > 0
    assert not full.map(lambda value: isinstance(value, (tuple, list, dict))).any(axis=None)


@pytest.mark.parametrize("what", TABLES)
def test_tables_without_rows_have_the_usual_columns(what):
    y, f, s = make_numbers()
    usual = CASES["two groups"]().audit(**NONE).to_frame(what)
    bare = Case(y, f, s + 0.0, bins={"s_bins": "continuous"}).audit(**NONE).to_frame(what)
    assert list(bare.columns) == list(usual.columns)
    assert bare.empty == (what != "figures")


def test_tables_name_the_quantiles():
    found = CASES["two groups"]().audit(ci_quantiles=(0.1, 0.5, 0.9))
    assert {"q0.1", "q0.5", "q0.9"} <= set(found.to_frame("figures").columns)
    assert {"rate_q0.5", "prediction_q0.5"} <= set(found.to_frame("cells").columns)


def test_tables_hold_what_the_records_hold():
    found = CASES["empty cells"]().audit()
    frame = found.to_frame("figures").set_index("name")
    for name, figure in found.figures.items():
        assert frame.loc[name, "value"] == figure.value
        assert frame.loc[name, "q0.025"] == figure.interval[0]
        if figure.chance is not None:
            assert frame.loc[name, "chance_p"] == figure.chance.p
    gaps = found.to_frame("gaps")
    assert list(zip(gaps["group"], gaps["other"], strict=True)) == [
        g.groups for g in found.all_gaps
    ]
    assert list(gaps["value"]) == [gap.value for gap in found.all_gaps]
    assert list(found.to_frame()["count"]) == [cell.count for cell in found.cells]


def test_rates_of_whole_groups_leave_out_labels_that_have_no_bin():
    case = CASES["outside"]()
    edges = case.bins["y_bins"]
    inside = (case.y >= edges[0]) & (case.y <= edges[-1])
    bins = [np.digitize(np.where(one == edges[-1], 2.4, one), edges) for one in (case.y, case.f)]
    for group in case.audit(**NONE).groups:
        of_group = case.s == group.group
        assert group.count == of_group.sum()
        assert group.rate == pytest.approx((bins[0] == bins[1])[of_group & inside].mean())


def test_an_unknown_table_is_an_error():
    with pytest.raises(ValueError, match=r"what='rows' is unknown; use one of .*'gaps'"):
        CASES["two groups"]().audit(**NONE).to_frame("rows")


def test_gaps_are_asked_for_by_kind():
    found = CASES["three classes"]().audit(**NONE)
    assert {gap.kind for gap in found.gaps()} == {"rate"}
    with pytest.raises(ValueError, match=r"kind='prediction'.*\['rate', 'error'\]"):
        found.gaps("prediction")


@pytest.mark.parametrize("case", CASES)
def test_the_dict_is_plain_and_survives_json(case):
    found = CASES[case]().audit()

    def check(value):
        assert type(value) in (dict, list, str, int, float, bool, type(None)), value
        if isinstance(value, float):
            assert not isnan(value)
        for one in (
            value.values() if isinstance(value, dict) else value if type(value) is list else ()
        ):
            check(one)

    check(found.to_dict())
    assert json.loads(found.to_json()) == found.to_dict()
    assert json.loads(found.to_json(indent=None)) == found.to_dict()


def test_what_is_unknown_is_null():
    y = np.repeat([0.5, 1.5], 20)  # the groups share no label bin
    parts = Case(y, y, letters((y > 1) * 1), bins={"y_bins": [0, 1, 2]}).audit().to_dict()
    figure = parts["figures"]["mean_gap"]
    assert (figure["value"], figure["interval"], figure["chance"]) == (None, None, None)
    assert parts["gaps"] == []
    assert {cell["prediction"] for cell in parts["cells"] if cell["note"] == "empty"} == {None}


def test_the_dict_keeps_every_field_and_the_settings():
    parts = CASES["marginal"]().audit(loss=np.subtract).to_dict()
    assert parts["settings"]["loss"] == "subtract"
    assert parts["settings"]["ci_quantiles"] == [0.025, 0.975]
    assert set(parts["cells"][0]) == {field.name for field in fields(Cell)}
    assert set(parts["figures"]["dgf"]) == {field.name for field in fields(Figure)}
    assert parts["attributes"] == ["team", "level"]


def test_html_shows_names_as_they_are():
    page = Tags(nasty().audit()._repr_html_())
    assert not page.tags & {"script", "b"}
    for name in (*NASTY, "<b>sex</b>", "[bold]x[/bold]"):
        assert name in page.text


def test_rich_output_shows_names_as_they_are():
    found = nasty().audit(small_cell_size=1000)  # cells are named in the verdict, too
    text = printed(found, width=1000)
    rows = [row for table in printed_tables(found) for part in table.sections for row in part.rows]
    titles = [part.title for table in printed_tables(found) for part in table.sections]
    words = [heading(found), *(one.text for one in found.verdict), *titles, *sum(rows, ())]
    for name in (*NASTY, "<b>sex</b>", "[bold]x[/bold]"):
        assert text.count(name) == sum(word.count(name) for word in words) > 1


@pytest.mark.parametrize("width", [70, 80, 120])
def test_rich_output_fits_any_terminal(width):
    found = CASES["two groups"]().audit()
    text = printed(found, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert found.verdict[0].text in " ".join(text.split())


@pytest.mark.parametrize("case", ["two groups", "three classes", "mixed"])
def test_text_has_the_verdict_and_every_figure(case):
    found = CASES[case]().audit()
    text = str(found)
    assert f"{found.n_rows} rows" in text
    for statement in found.verdict:
        assert statement.text in text
    for figure in found.figures.values():
        assert figure.title in text
    assert str(nasty().audit()).count("[red]b[/red]") > 0
    assert repr(found).startswith(f"<Audit of {found.n_rows} rows")


@pytest.mark.parametrize("options", [NONE, {"n_boot": 0}, {"n_permutations": 0}])
def test_what_was_left_out_is_left_blank(options):
    found = CASES["two groups"]().audit(**options)
    assert "nan" not in str(found) + found._repr_html_()
    assert "–" in str(found)


def containers(library, columns):
    frames = import_module(library)
    return frames.DataFrame(columns), frames.Series


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_keep_their_names(library):
    y, f, s = make_numbers()
    frame, series = containers(library, {"sex": letters(s), "age": s * 20 + 20})
    found = gferm.audit(y, f, sensitive_features=frame, intersectional=False, y_bins=EDGES, **QUICK)
    assert found.attributes == ("sex", "age")
    assert [cell.group for cell in found.groups] == ["a", "b", "20", "40"]
    assert gferm.audit(
        series(y), series(f), sensitive_features=frame["sex"], y_bins=EDGES, **QUICK
    ).attributes == ("sex",)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "category", "object", "int8"])
def test_classes_and_groups_of_any_pandas_type_are_the_same(dtype):
    case = CASES["0 and 1"]()
    y, f = (pd.Series(one).astype(dtype) for one in (case.y, case.f))
    expected = Case(case.y, case.f, case.s).audit(**QUICK).to_json()
    assert Case(y, f, case.s).audit(**QUICK).to_json() == expected


@pytest.mark.parametrize("dtype", ["Float64", "object", "float32", "double[pyarrow]"])
def test_numbers_of_any_pandas_type_are_numbers(dtype):
    case = CASES["two groups"]()
    y, f = (np.round(one * 8) / 8 for one in (case.y, case.f))  # exact in 32 bits
    found = Case(pd.Series(y, dtype=dtype), pd.Series(f, dtype=dtype), case.s, bins=case.bins)
    assert found.audit(**QUICK).to_json() == Case(y, f, case.s, bins=case.bins).audit().to_json()
