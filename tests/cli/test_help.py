"""Help, examples and shell completion: what is written there works."""

import inspect
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command

import gferm.cli
from gferm.cli import app
from tests.cli.people import invoke, people, scored, succeed

ROOT = Path(gferm.cli.__file__).parents[3]
COMMANDS = get_command(app).commands


def examples(text):
    """Give the lines of a text that call the command, as words after its name."""
    lines = re.findall(r"^\s*(?:\$ )?gferm +([a-z].*)$", text.replace("\\\n", " "), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines if "--help" not in line]


def code_of(page):
    """Give the blocks of code of a Markdown page."""
    return "\n".join(re.findall(r"```\w*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


HELP = {
    f"{name} {number}": words
    for name, command in COMMANDS.items()
    for number, words in enumerate(examples(inspect.getdoc(command.callback)))
}
PAGES = {
    f"{page.name}: {' '.join(words)}": words
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.exists()
    for words in examples(code_of(page))
}
LONG = ("demo",)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_codes(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = succeed(command, "--help")
    assert done.stdout.count(f"gferm {command}") >= 2
    for words in ("Examples", "Exit codes", "0 done", "2 wrong input", "130 stopped"):
        assert words in done.stdout
    assert ("1 unfair" in done.stdout) == (command == "audit")
    assert "[bold]" not in done.stdout


def test_help_lists_every_command():
    for words in ((), ("--help",)):
        said = invoke(*words).output
        assert all(f" {command} " in said for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_paragraphs_of_help_fill_their_lines(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    said = succeed(command, "--help").stdout.split("Examples")[0]
    for paragraph in re.split(r"\n\s*\n", said)[2:]:
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        for line, following in pairwise(lines):
            assert len(line) + 1 + len(following.split()[0]) > 57, paragraph


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the files that the examples speak of."""
    folder = tmp_path_factory.mktemp("examples")
    table = scored()
    table["person"] = range(len(table))
    table["age"] = table["age"].fillna(30)
    of_fit = people().assign(age=table["age"], person=table["person"])
    for name in ("people.csv", "new.csv"):
        of_fit.to_csv(folder / name, index=False)
    for name in ("people.parquet", "new.parquet"):
        of_fit.to_parquet(folder / name)
    table.to_csv(folder / "scored.csv", index=False)
    done = invoke(
        "fit", folder / "people.csv", "--target", "hired", "--task", "classification", "--loss",
        "log_loss", "--sensitive", "sex", "--drop", "salary", "--out", folder / "model.skops",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("words", [w for w in HELP.values() if w[0] not in LONG], ids=" ".join)
def test_every_example_of_the_help_runs(words, place, monkeypatch):
    monkeypatch.chdir(place)
    model, before = (place / "model.skops").read_bytes(), set(os.listdir())
    if "score" in words and words[0] == "report":  # people.csv has no scores
        words = [word.replace("people.csv", "scored.csv") for word in words]
    done = invoke(*words)
    assert done.exit_code in ((0, 1) if "--check" in words else (0,)), done.output
    assert done.stdout
    (place / "model.skops").write_bytes(model)
    assert all(Path(word).exists() for word in words if word.endswith((".html", ".png")))
    assert before <= set(os.listdir())


@pytest.mark.parametrize("words", [*HELP.values(), *PAGES.values()], ids=" ".join)
def test_every_example_names_commands_and_options_that_exist(words):
    command, *rest = words
    COMMANDS[command].make_context(command, rest)  # an error names what it does not know


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell):
    """The script that the shell runs asks the command, which knows its commands and options."""
    variables = {
        "bash": {"COMP_WORDS": "gferm aud", "COMP_CWORD": "1"},
        "zsh": {"_TYPER_COMPLETE_ARGS": "gferm aud"},
        "fish": {"_TYPER_COMPLETE_ARGS": "gferm aud", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    code = "import sys; sys.argv[0] = 'gferm'; from gferm.cli import app; app(prog_name='gferm')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "_GFERM_COMPLETE": f"complete_{shell}", **variables},
        capture_output=True,
        text=True,
    )
    assert "audit" in done.stdout, done.stderr
    assert "frontier" not in done.stdout


def test_completion_can_be_installed():
    said = succeed("--help").stdout
    assert "--install-completion" in said
    assert "--show-completion" in said


# -- progress -----------------------------------------------------------------------------------


def run_on_a_terminal(*words):
    """Give code and stdout of a command whose stderr is a terminal, and what that showed."""
    ours, theirs = pty.openpty()
    ask = [sys.executable, "-m", "gferm", *map(str, words)]
    shown = b""
    with subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=theirs, text=True) as child:
        os.close(theirs)
        with suppress(OSError):  # which is how a terminal ends
            while part := os.read(ours, 2**16):
                shown += part
        out = child.stdout.read()
    os.close(ours)
    return child.returncode, out, shown.decode()


ASK = ("--target", "salary", "--sensitive", "sex", "--drop", "hired,weight", "--y-bins", "2")
FEW = ("--n-boot", "10", "--n-permutations", "60")


def test_progress_is_for_terminals(csv, tmp_path):
    ask = ("report", csv, *ASK, *FEW, "--out", tmp_path / "page.html")
    code, out, shown = run_on_a_terminal(*ask)
    assert code == 0, shown
    assert "Auditing the frontier" in shown
    assert "Auditing the frontier" not in out
    code, out, shown = run_on_a_terminal(*ask, "--json")
    assert (code, shown) == (0, "")
    assert json.loads(out)["n_rows"] == 80


@pytest.mark.parametrize(
    "words",
    [
        ("report", *FEW, "--out", "page.html"),
        ("fit", "--select", "error", "--cv", "2", "--out", "m.skops"),
    ],
)
@pytest.mark.parametrize("form", [("--json",), ()])
def test_a_log_gets_no_progress(words, form, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, *more = words
    assert succeed(command, csv, *ASK, *more, *form).stderr == ""
