"""Run the command line with ``python -m gferm``."""

from __future__ import annotations

import sys


def main() -> None:
    """Start the command line, or say what it needs."""
    try:
        _start()
    except KeyboardInterrupt:  # while it was still loading: 128 + SIGINT, as shells have it
        sys.exit(130)


def _start() -> None:
    try:
        from gferm.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gferm"):
            raise
        sys.exit(f"The gferm command needs {error.name}: pip install 'gferm[cli,plot]'.")
    for stream in filter(None, (sys.stdout, sys.stderr)):  # a terminal may not know every letter
        stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
