"""A Sheet as HTML: a table and its notes, for a page or a notebook."""

from __future__ import annotations

from html import escape

from gferm.sheets.layout import FAR, Sheet


def to_html_table(sheet: Sheet) -> str:
    """Write the table and the list of its notes; its title is for the page to give."""
    groups = "".join(f'<th colspan="{n}">{escape(name)}</th>' for name, n in sheet.groups)
    names = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in sheet.columns)
    lines = [
        # what scrolls sideways can be reached with the keyboard
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(sheet.title)}">',
        f"<table>\n<thead><tr>{groups}</tr><tr>{names}</tr></thead>",
    ]
    for section in sheet.sections:
        lines.append("<tbody>")
        if section.title:
            span = f'<th class="section" colspan="{len(sheet.columns)}">'
            lines.append(f"<tr>{span}{escape(section.title)}</th></tr>")
        for row in section.rows:
            lines.append(f"<tr>{''.join(map(_cell, row))}</tr>")
        lines.append("</tbody>")
    lines.append("</table></div>")
    if sheet.notes:
        lines.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in sheet.notes)}</ul>")
    return "\n".join(lines)


def _cell(text: str) -> str:
    tag = '<td class="far">' if text.endswith(FAR) else "<td>"
    return f"{tag}{escape(text)}</td>"
