"""The people and their model are those of the command line's tests."""

from tests.cli.conftest import csv, numbers_model

__all__ = ["csv", "numbers_model"]
