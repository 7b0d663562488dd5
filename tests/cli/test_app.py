"""The command as a whole: its version, and what stops it early."""

import pytest
from typer.testing import CliRunner

import gferm
from gferm.__main__ import main
from gferm.cli import app


def test_an_interrupt_while_loading_is_no_traceback(monkeypatch):
    def interrupt(module):
        raise KeyboardInterrupt

    monkeypatch.setattr("gferm.__main__._start", interrupt)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 130


def test_version():
    run = CliRunner().invoke(app, ["--version"])
    assert run.exit_code == 0
    assert gferm.__version__ in run.output
