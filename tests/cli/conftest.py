"""Files that several tests of the command line read."""

import pytest

from tests.cli.people import CLASSES, NUMBERS, people, scored, succeed


@pytest.fixture(scope="session")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    people().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def scored_csv(csv):
    path = csv.with_name("scored.csv")
    scored().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def numbers_model(csv):
    """A regression model of the people."""
    path = csv.with_name("numbers.skops")
    succeed("fit", csv, *NUMBERS, "--sensitive", "sex,origin", "--out", path)
    return path


@pytest.fixture(scope="session")
def classes_model(csv):
    """A model of classes with probabilities."""
    path = csv.with_name("classes.skops")
    loss = ("--loss", "log_loss")
    succeed("fit", csv, *CLASSES, *loss, "--sensitive", "sex", "--drop", "origin", "--out", path)
    return path
