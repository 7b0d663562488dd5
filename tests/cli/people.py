"""A small table of people, and the commands run on it."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from gferm.cli import app

SCRIPT, FORMULA, MARKUP = "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "[red]x[/red]"


def people(n=240, seed=0):
    """Numbers, words, gaps in both, two sensitive attributes, a numeric and a worded target."""
    rng = np.random.default_rng(seed)
    sex = np.arange(n) % 2
    income = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n).astype(float),
            "income": income,
            "region": rng.choice(["north", "south", "west"], n),
            "member": rng.random(n) < 0.5,
            "sex": np.where(sex, "m", "f"),
            "origin": rng.choice(["a", "b"], n),
            "weight": rng.integers(1, 4, n),
            "salary": income + 0.5 * sex + 0.3 * rng.normal(size=n),
        }
    )
    table["hired"] = np.where(table["salary"] > 0, "yes", "no")
    table.loc[3, "age"] = np.nan
    table.loc[[4, 9], "region"] = None
    return table


def scored(n=240, seed=0):
    """People with predictions of both targets: unfair ones, and one that knows nothing."""
    table = people(n, seed)
    men, noise = table["sex"] == "m", np.random.default_rng(seed + 1).normal(size=n)
    table["score"] = table["salary"] + 0.7 * men + 0.1 * noise
    table["noise"] = noise
    table["said"] = np.where(table["score"] > 0, "yes", "no")
    table["share"] = 1 / (1 + np.exp(-table["score"]))
    for name, answer in (("won", "hired"), ("called", "said")):
        table[name] = (table[answer] == "yes").astype(int)
    return table


NUMBERS = ("--target", "salary", "--drop", "hired,weight", "--y-bins", "3")
CLASSES = ("--target", "hired", "--drop", "salary,weight", "--task", "classification")


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def succeed(*words):
    """Run a command that must go well, and give its result."""
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    return done


def report(*words):
    """Run a command with --json and read what it says."""
    return json.loads(succeed(*words, "--json").stdout)


def assert_refused(done, *words):
    """Expect one line on stderr, nothing else, and exit code 2."""
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert str(word) in done.stderr
