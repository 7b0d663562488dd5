"""A Sheet as Markdown and as LaTeX.

Whatever is in a cell arrives as text: each form escapes what it would read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gferm.printed.table import PrintedTable as Sheet
from gferm.printed.table import Section

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
WIDE, TALL = 12, 50  # columns and rows that a page holds at the usual size of tables
LATEX_PATTERN = re.compile("|".join(map(re.escape, sorted(LATEX, key=len, reverse=True))))


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
    """Write a table that needs no package, or several where a page cannot hold it."""
    return "\n".join(_latex_table(part) for part in _pages(sheet))


def _pages(sheet: Sheet) -> list[Sheet]:
    """Share the sections out among pages; the notes are on the last."""
    pages: list[list[Section]] = [[]]
    rows = 0
    for section in sheet.sections:
        rows += 1 + len(section.rows)
        if pages[-1] and rows > TALL:
            pages.append([])
            rows = 1 + len(section.rows)
        pages[-1].append(section)
    n = len(pages)
    return [
        replace(
            sheet,
            title=f"{sheet.title} ({i} of {n})" if n > 1 else sheet.title,
            sections=tuple(sections),
            notes=sheet.notes if i == n else (),
        )
        for i, sections in enumerate(pages, start=1)
    ]


def _latex_table(sheet: Sheet) -> str:
    n = len(sheet.columns)
    groups = [
        _latex(name) if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{_latex(name)}}}"
        for name, width in sheet.groups
    ]
    size = r"\footnotesize" if n <= WIDE else r"\scriptsize"
    lines = [
        r"\begin{table}",
        rf"\centering{size}\setlength{{\tabcolsep}}{{0.3em}}",
        rf"\caption{{{_latex(sheet.title)}.}}",
        # what is wider than the text is centred, into both margins
        rf"\makebox[\textwidth][c]{{\begin{{tabular}}{{l{'r' * (n - 1)}}}",
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
    lines += [r"\hline", r"\end{tabular}}"]
    lines += [rf"\par\smallskip\raggedright {_latex(note)}" for note in sheet.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _markdown(text: str) -> str:
    text = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text.replace("\n", " "))
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_markdown, cells)) + " |"


def _latex(text: str) -> str:
    return LATEX_PATTERN.sub(lambda match: LATEX[match.group()], text)
