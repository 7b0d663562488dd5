"""A PrintedTable as Markdown and as LaTeX; sheets and pictures as one HTML page.

Whatever is in a cell arrives as text: each form escapes what it would read as markup. The page
needs nothing else: no script, no file, no network.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from gferm.printed.table import PrintedTable, Section, to_html_table

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

STYLE = """\
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --rule: #bbb; --faint: #5c5c5c;
  --tint: #f3f5f8; --link: #0a58a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181c; --rule: #555; --faint: #a8a8a8; --tint: #20242b;
    --link: #8ab8ee; } }
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif;
  max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.2rem; }
a { color: var(--link); }
nav ul { columns: 22rem; column-gap: 2.5rem; padding-left: 1.2rem; }
section { margin: 2.5rem 0; scroll-margin-top: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .2rem .45rem; text-align: right; }
th:first-child, td:first-child, th.section { text-align: left; }
tbody td:first-child, thead th:first-child { position: sticky; left: 0; background: var(--paper); }
thead th { font-weight: 600; }
thead tr:first-child th { text-align: center; color: var(--faint); }
thead tr:last-child th { border-bottom: 2px solid var(--rule); }
tbody tr:first-child > * { border-top: 1px solid var(--rule); }
tbody tr:hover td { background: var(--tint); }
td.far { font-weight: 700; }
th.section { font-weight: 400; font-style: italic; color: var(--faint); }
section ul { color: var(--faint); font-size: .9em; padding-left: 1.2rem; max-width: 60rem; }
img { max-width: 100%; background: #fff; }
@media print { nav { display: none; } section { break-inside: avoid; } }"""

PNG_WIDTH = slice(16, 20)  # the bytes that hold it, in pixels
ZOOM = 0.64  # from the pixels of a picture to those of a page


def to_markdown(sheet: PrintedTable) -> str:
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


def to_latex(sheet: PrintedTable) -> str:
    """Write a table that needs no package, or several where a page cannot hold it."""
    return "\n".join(_latex_table(part) for part in _pages(sheet))


def _pages(sheet: PrintedTable) -> list[PrintedTable]:
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


def _latex_table(sheet: PrintedTable) -> str:
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


@dataclass(frozen=True)
class PageSection:
    """A section of the page.

    Attributes
    ----------
    name : str
        For links to it.
    title : str
    body : str
        HTML.
    """

    name: str
    title: str
    body: str


def table_section(sheet: PrintedTable) -> PageSection:
    """Return the section of a table and its notes."""
    return PageSection(sheet.name, sheet.title, to_html_table(sheet))


def picture_section(name: str, caption: str, png: bytes) -> PageSection:
    """Return the section of a picture; all have letters of the same size."""
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    width = round(ZOOM * int.from_bytes(png[PNG_WIDTH]))
    return PageSection(
        name, caption, f'<img alt="{escape(caption)}" width="{width}" src="{source}">'
    )


def to_page(parts: Sequence[PageSection], *, title: str) -> str:
    """Write the page: a list of its parts, then the parts themselves."""
    links = "".join(
        f'<li><a href="#{escape(part.name)}">{escape(part.title)}</a></li>\n' for part in parts
    )
    sections = "\n".join(
        f'<section id="{escape(part.name)}">\n<h2>{escape(part.title)}</h2>\n{part.body}\n'
        "</section>"
        for part in parts
    )
    return f"""\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title>
<style>
{STYLE}
</style></head>
<body>
<main>
<h1>{escape(title)}</h1>
{f"<nav><ul>{links}</ul></nav>" if len(parts) > 1 else ""}
{sections}
</main>
</body>
</html>
"""
