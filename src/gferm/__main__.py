"""Run the command line with ``python -m gferm``."""

from __future__ import annotations

import sys
from importlib import import_module


def main(module: str = "gferm.cli") -> None:
    """Start the ``app`` of a module, the command line by default, or say what it needs."""
    try:
        _start(module)
    except KeyboardInterrupt:  # while it was still loading: 128 + SIGINT, as shells have it
        sys.exit(130)


def _start(module: str) -> None:
    try:
        app = import_module(module).app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("gferm", module.split(".")[0])):
            raise
        sys.exit(f"This command needs {error.name}: pip install 'gferm[cli,plot]'.")
    for stream in filter(None, (sys.stdout, sys.stderr)):  # a terminal may not know every letter
        stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
