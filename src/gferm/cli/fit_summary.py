"""The summary of a fit for people: what was learned, from whom, how fair, at what price.

Takes the plain data of fitting.py and gives what a rich console prints. Names from files are texts,
never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gferm.cli.terminal import printable

WIDEST = 8  # groups beside each other; more are summed up in a sentence
FEW = 20  # rows; cells with fewer are marked


def summary_of_fit(found: Mapping[str, Any]) -> RenderableType:
    """Return the facts, then a table of cells for each attribute."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _facts(found):
        facts.add_row(Text(name), Text(printable(value)))
    cells = [_cells(part, found["min_cell_size"]) for part in found["cells"]]
    footer = f"Wrote {found['model']} in {found['seconds']:.1f} s."
    return Group(facts, *cells, Text(printable(footer), style="bold"))


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = found["categorical_features"]
    also = f", {len(words)} of them categorical ({_listed(words)})" if words else ""
    facts = [
        ("rows", f"{found['rows']}{_left_out(found['rows_left_out'])}"),
        ("target", found["target"]),
        ("sensitive", ", ".join(found["sensitive"])),
        ("features", f"{len(found['features'])}{also}; {found['columns_of_matrix']} columns"),
        ("preparation", found["preparation"]),
        ("model", _model(found)),
    ]
    if found["selection"]:
        facts.append(("chosen", _chosen(found["selection"])))
    facts.append(("fairness", _fairness(found)))
    if found["price_percent"] is not None:
        price = f"{found['price_percent']:.3g} % of the training objective above the plain model"
        facts.append(("price", price))
    proof = f"{found['solver']}; relative duality gap {found['duality_gap']:.1e}"
    facts.append(("solver", proof))
    return facts


def _left_out(dropped: int) -> str:
    return f" ({dropped} left out)" if dropped else ""


def _model(found: Mapping[str, Any]) -> str:
    gamma = "" if found["gamma"] is None else f", gamma {found['gamma']:.4g}"
    points = "" if found["n_landmarks"] is None else f" on {found['n_landmarks']} landmarks"
    return (
        f"{found['task']}, {found['loss']} loss, {found['kernel']} kernel{points}, "
        f"alpha {found['alpha']:g}{gamma}, epsilon {_number(found['epsilon'])}"
    )


def _chosen(search: Mapping[str, Any]) -> str:
    params = ", ".join(f"{name} {_number(value)}" for name, value in search["chosen"].items())
    return (
        f"{params}; from {search['settings']} settings on {search['folds']} folds: held-out error "
        f"{search['held_out_error']:.4g}, {search['unfairness_measure']} "
        f"{search['held_out_unfairness']:.4g}"
    )


def _fairness(found: Mapping[str, Any]) -> str:
    compared, skipped = found["pairs_compared"], found["pairs_not_compared"]
    plain = found["plain_violation"]
    before = "" if plain is None else f", {plain:.4g} in the plain model"
    also = f", {skipped} not" if skipped else ""
    continuous = found["continuous"]
    scores = f"; {', '.join(continuous)} by covariance" if continuous else ""
    violation = found["violation"] if found["violation"] > 1e-9 else 0
    return (
        f"mean gap {violation:.4g} on the training rows{before} "
        f"({compared} pairs of groups compared{also}{scores})"
    )


def _cells(part: Mapping[str, Any], smallest: int) -> RenderableType:
    groups, labels, counts = part["groups"], part["label_bins"], part["rows"]
    if len(groups) > WIDEST:
        rows = [count for line in counts for count in line]
        few = sum(count < FEW for count in rows)
        text = (
            f"{part['attribute']}: {len(groups)} groups in {len(labels)} label bins, {few} of "
            f"{len(rows)} cells with fewer than {FEW} rows; --json lists them all."
        )
        return Text(printable(text))
    table = Table(
        title=Text(printable(f"{part['attribute']}: rows in each cell")),
        caption=Text(f"* fewer than {FEW} rows: mostly chance. – not compared."),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("label bin")
    for group in groups:
        table.add_column(Text(printable(group)), justify="right", overflow="fold")
    for label, line in zip(labels, counts, strict=True):
        table.add_row(Text(printable(label)), *(_count(count, smallest) for count in line))
    return table


def _count(count: int, smallest: int) -> Text:
    mark = " –" if count < max(smallest, 1) else " *" if count < FEW else "  "
    return Text(f"{count}{mark}", style="yellow" if mark.strip() else "")


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
