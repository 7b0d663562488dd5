"""Run the command line with ``python -m gferm``."""

from gferm.cli import main

main()
