"""A Sheet for the terminal, as Markdown and as LaTeX.

Whatever is in a cell arrives as text: each form escapes what it would read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from gferm.experiments.layout import Sheet

NARROWEST = 5  # a name is not broken into shorter lines than this …
SHORTEST = 16  # … and that of a row not into shorter ones than this
LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "[": "{[}",  # an option of the line before, at the start of a row
    "*": "{*}",
    "ε̂": r"$\hat{\epsilon}$",
    "Δ̂": r"$\hat{\Delta}$",
    "±": r"$\pm$",
    "−": "$-$",
    "·": r"$\cdot$",
    "→": r"$\to$",
    "≤": r"$\leq$",
    "Σ": r"$\Sigma$",
    "Δ": r"$\Delta$",
    "ε": r"$\epsilon$",
    "–": "--",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "\n": " ",
}
LATEX_PATTERN = re.compile("|".join(map(re.escape, sorted(LATEX, key=len, reverse=True))))


def to_terminal(sheet: Sheet, *, width: int | None = None, notes: bool = True) -> Any:
    """Give what a rich console prints.

    Parameters
    ----------
    sheet : Sheet
    width : int, default=None
        Room for a line; optional columns that do not fit are named below instead.
    notes : bool, default=True
        Tables in a row may share theirs.
    """
    from rich.cells import cell_len
    from rich.console import Group
    from rich.text import Text

    sheet = sheet if width is None else _narrowed(sheet, width)
    heads, widths = _columns(sheet)
    depth = max(map(len, heads))
    names = list(zip(*([""] * (depth - len(head)) + head for head in heads), strict=True))
    spans, start = [], 0
    for name, n in sheet.groups:
        stop = start + n
        missing = cell_len(name) + 2 * (n > 1) - sum(widths[start:stop]) - (n - 1)
        widths[stop - 1] += max(missing, 0)
        spans.append(sum(widths[start:stop]) + n - 1)
        start = stop
    excess = sum(spans) + len(spans) - (width or sum(spans) + len(spans))
    spans[0] = widths[0] = max(widths[0] - max(excess, 0), min(widths[0], SHORTEST))
    groups = [
        f" {name} ".center(span, "─") if name and n > 1 else name
        for (name, n), span in zip(sheet.groups, spans, strict=True)
    ]
    parts: list[Any] = [Text(sheet.title, style="bold"), _grid([groups], spans, "bold")]
    parts += [_grid(names, widths, "bold"), Text("─" * (sum(spans) + len(spans) - 1))]
    for i, section in enumerate(sheet.sections):
        if i:
            parts.append(Text(""))
        if section.title:
            parts.append(Text(section.title, style="italic"))
        parts.append(_grid(section.rows, widths))
    if notes:
        parts += [Text(""), *(Text(note, style="dim") for note in sheet.notes)]
    return Group(*parts)


def _columns(sheet: Sheet) -> tuple[list[list[str]], list[int]]:
    """Give the lines of each column's name, and its width."""
    from rich.cells import cell_len

    heads, widths = [], []
    for j, column in enumerate(sheet.columns):
        below = [cell_len(row[j]) for section in sheet.sections for row in section.rows]
        heads.append(wrap(column.name, max([NARROWEST, *below]), break_long_words=False))
        widths.append(max([*below, *map(cell_len, heads[-1])], default=0))
    return heads, widths


def _narrowed(sheet: Sheet, width: int) -> Sheet:
    """Leave out optional columns, the last one first, until a line fits."""
    left_out: list[str] = []
    while sum(_columns(sheet)[1]) + len(sheet.columns) > width:
        optional = [j for j, column in enumerate(sheet.columns) if column.optional]
        if not optional:
            break
        column = sheet.columns[optional[-1]]
        left_out.insert(0, f"{column.group}, {column.name}")
        sheet = sheet.without(optional[-1])
    if not left_out:
        return sheet
    hint = f"In the files, and in a wider terminal, besides: {'; '.join(left_out)}."
    return replace(sheet, notes=(*sheet.notes, hint))


def _grid(rows: Sequence[Sequence[str]], widths: Sequence[int], style: str = "") -> Any:
    """Give rows in columns of fixed widths; rich has no cell that spans columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), style=style)
    for j, width in enumerate(widths):
        table.add_column(justify="right" if j else "left", width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def to_markdown(sheet: Sheet) -> str:
    """Write a table in the dialect of GitHub."""
    names = [
        f"{column.group}, {column.name}" if column.group else column.name
        for column in sheet.columns
    ]
    lines = [f"## {_markdown(sheet.title)}", "", _markdown_row(names)]
    lines.append("|" + "|".join([" --- ", *[" ---: "] * (len(names) - 1)]) + "|")
    for section in sheet.sections:
        if section.title:
            title = f"*{_markdown(section.title)}*"
            lines.append("| " + " | ".join([title, *[""] * (len(names) - 1)]) + " |")
        lines += [_markdown_row(row) for row in section.rows]
    lines += ["", *(f"- {_markdown(note)}" for note in sheet.notes)]
    return "\n".join(lines) + "\n"


def to_latex(sheet: Sheet) -> str:
    """Write a table that needs no package."""
    n = len(sheet.columns)
    groups = [
        _latex(name) if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{_latex(name)}}}"
        for name, width in sheet.groups
    ]
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{0.3em}",
        rf"\caption{{{_latex(sheet.title)}.}}",
        rf"\begin{{tabular}}{{l{'r' * (n - 1)}}}",
        r"\hline",
        " & ".join(groups) + r" \\",
        " & ".join(_latex(column.name) for column in sheet.columns) + r" \\",
    ]
    for section in sheet.sections:
        lines.append(r"\hline")
        if section.title:
            lines += [
                rf"\multicolumn{{{n}}}{{l}}{{\emph{{{_latex(section.title)}}}}} \\",
                r"\hline",
            ]
        lines += [" & ".join(map(_latex, row)) + r" \\" for row in section.rows]
    lines += [r"\hline", r"\end{tabular}"]
    lines += [rf"\par\smallskip\raggedright {_latex(note)}" for note in sheet.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _markdown(text: str) -> str:
    text = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text.replace("\n", " "))
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_markdown, cells)) + " |"


def _latex(text: str) -> str:
    return LATEX_PATTERN.sub(lambda match: LATEX[match.group()], text)
