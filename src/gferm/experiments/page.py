"""Sheets and pictures as one HTML page that needs nothing else: no script, no file, no network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from gferm.experiments.layout import Sheet

STYLE = """\
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --rule: #bbb; --faint: #666;
  --tint: #f3f5f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181c; --rule: #555; --faint: #a0a0a0; --tint: #20242b; } }
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif;
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
section { margin: 2.5rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .2rem .6rem; text-align: right; }
th:first-child, td:first-child, th.section { text-align: left; }
thead th { font-weight: 600; }
thead tr:first-child th { text-align: center; color: var(--faint); }
thead tr:last-child th { border-bottom: 2px solid var(--rule); }
tbody tr:first-child > * { border-top: 1px solid var(--rule); }
tbody tr:hover td { background: var(--tint); }
th.section { font-weight: 400; font-style: italic; color: var(--faint); }
ul { color: var(--faint); font-size: .9em; padding-left: 1.2rem; max-width: 60rem; }
img { max-width: 100%; background: #fff; }"""


def to_html(
    sheets: Sequence[Sheet], *, title: str, pictures: Mapping[str, bytes] | None = None
) -> str:
    """Write the page.

    Parameters
    ----------
    sheets : sequence of Sheet
    title : str
    pictures : dict of bytes, default=None
        PNG files by their captions.
    """
    body = [f"<h1>{escape(title)}</h1>", *(_html_table(sheet) for sheet in sheets)]
    body += [
        f"<section>\n<h2>{escape(caption)}</h2>\n"
        f'<img alt="{escape(caption)}" src="data:image/png;base64,{b64encode(png).decode()}">\n'
        "</section>"
        for caption, png in (pictures or {}).items()
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}\n</style></head>",
            "<body>",
            *body,
            "</body>",
            "</html>\n",
        ]
    )


def _html_table(sheet: Sheet) -> str:
    groups = "".join(f'<th colspan="{n}">{escape(name)}</th>' for name, n in sheet.groups)
    names = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in sheet.columns)
    lines = [
        f'<section id="{escape(sheet.name)}">',
        f"<h2>{escape(sheet.title)}</h2>",
        '<div class="scroll"><table>',
        f"<thead><tr>{groups}</tr><tr>{names}</tr></thead>",
    ]
    for section in sheet.sections:
        lines.append("<tbody>")
        if section.title:
            span = f'<th class="section" colspan="{len(sheet.columns)}">'
            lines.append(f"<tr>{span}{escape(section.title)}</th></tr>")
        for row in section.rows:
            lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
        lines.append("</tbody>")
    notes = "".join(f"<li>{escape(note)}</li>" for note in sheet.notes)
    return "\n".join([*lines, "</table></div>", f"<ul>{notes}</ul>" if notes else "", "</section>"])
