"""Run the command line with ``python -m gferm``."""

from __future__ import annotations

import sys


def main() -> None:
    """Start the command line, or say what it needs."""
    try:
        from gferm.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gferm"):
            raise
        sys.exit(f"The gferm command needs {error.name}: pip install 'gferm[cli,plot]'.")
    app()


if __name__ == "__main__":
    main()
