"""dict → page: jinja2 escapes every word, the figures travel as JSON, plotly.js is in the file.

The page makes no request: what it loads is inside, and its own policy forbids the rest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import gferm
from gferm.printed.table import number

TEMPLATES = "gferm.report"


def write_page(summary: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a summary; an older file is replaced only once the new one is whole.

    Parameters
    ----------
    summary : dict
        As returned by `gferm.auditing.page_data.data_of_page`.
    path : str or path
    """
    page, path = render_page(summary), Path(path)
    with NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
    ) as file:
        file.write(page)
    os.chmod(file.name, 0o644)  # a temporary file is for its owner alone
    os.replace(file.name, path)


def render_page(summary: Mapping[str, Any]) -> str:
    """Return the HTML of a summary."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(f"The report needs {error.name}: pip install 'gferm[report]'.") from error
    environment = Environment(
        loader=PackageLoader(TEMPLATES, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = number  # as the script writes it
    page: str = environment.get_template("report.html").render(
        summary,
        summary=dict(summary),
        version=gferm.__version__,
        style=_template_text("report.css"),
        script=_template_text("report.js"),
        plotly=get_plotlyjs(),
    )
    return page


@cache
def _template_text(name: str) -> str:
    return (resources.files(TEMPLATES) / "templates" / name).read_text(encoding="utf-8")
