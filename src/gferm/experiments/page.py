"""Sheets and pictures as one HTML page that needs nothing else: no script, no file, no network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gferm.printed.table import PrintedTable as Sheet
from gferm.printed.table import to_html_table

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


@dataclass(frozen=True)
class Part:
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


def table_part(sheet: Sheet) -> Part:
    """Make a section of a table and its notes."""
    return Part(sheet.name, sheet.title, to_html_table(sheet))


def picture_part(name: str, caption: str, png: bytes) -> Part:
    """Make a section of a picture; all have letters of the same size."""
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    width = round(ZOOM * int.from_bytes(png[PNG_WIDTH]))
    return Part(name, caption, f'<img alt="{escape(caption)}" width="{width}" src="{source}">')


def to_html(parts: Sequence[Part], *, title: str) -> str:
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
