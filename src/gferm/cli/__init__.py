"""The command line: one file a command."""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated

import typer

import gferm
from gferm.cli.audit import audit
from gferm.cli.demo import demo
from gferm.cli.fit import fit
from gferm.cli.frontier import frontier
from gferm.cli.predict import predict
from gferm.cli.report import report
from gferm.cli.terminal import console

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_show_locals=False,
    help="Fair regression: exact, fast, for any sensitive attribute.",
    rich_markup_mode="rich",
)


def flowing(text: str | None) -> str:
    """Undo the line ends within a paragraph, which typer would keep, so that it fits any width."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else " ".join(p.split("\n")) for p in paragraphs)


for command in (fit, predict, audit, report, frontier, demo):
    app.command(help=flowing(command.__doc__))(command)


def _show_version(asked: bool) -> None:
    if asked:
        console.print(f"gferm {gferm.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Fair regression: exact, fast, for any sensitive attribute."""
