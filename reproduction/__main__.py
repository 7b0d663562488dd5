"""Run the experiments with ``python -m reproduction``."""

from gferm.__main__ import main

if __name__ == "__main__":
    main("reproduction.command")
