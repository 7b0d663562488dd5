"""The demo does its job and says what it measured."""

import numpy as np
import pytest
from typer.testing import CliRunner

from gferm.cli import app
from gferm.cli.demo import HeldOut, predict_held_out
from gferm.metrics import dgf
from tests.cli.people import assert_refused


@pytest.fixture(scope="module")
def result() -> HeldOut:
    return predict_held_out()


def test_the_demo_writes_pictures_and_a_report_and_prints_its_tables(tmp_path):
    run = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert run.exit_code == 0, run.output
    for name in ("frontier.png", "histogram.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="slider"' in page
    assert run.stderr == ""  # progress is for terminals
    assert "report.html" in "".join(run.output.split())
    for text in ("100·MAE", "DGF", "[0.9, 1]", "(551)", "epsilon = 0"):
        assert text in run.output


def test_the_demo_needs_a_folder(tmp_path):
    path = tmp_path / "demo"
    path.write_text("of yesterday")
    assert_refused(CliRunner().invoke(app, ["demo", "--out", str(path)]), "is a file", "folder")
    assert path.read_text() == "of yesterday"


def test_held_out_fairness_is_bought_with_error(result):
    assert result.dgf(-1, "weighted") < result.dgf(0, "weighted")
    assert result.error(0) < result.error(-1) < 1.15 * result.error(0)


@pytest.mark.parametrize("average", ["pairs", "weighted"])
def test_the_chance_level_is_that_of_shuffled_groups(result, average):
    y, s = result.data.target, result.data.sensitive_features
    rng = np.random.default_rng(1)
    label = np.minimum((10 * y + 1e-9).astype(int), 9)
    values = []
    for _ in range(150):
        shuffled = s.copy()
        for k in range(10):
            rows = np.flatnonzero(label == k)
            shuffled[rows] = rng.permutation(s[rows])
        f = result.predictions[-1]
        bins = {"y_bins": result.data.y_bins, "s_bins": result.data.s_bins}
        values.append(dgf(y, f, sensitive_features=shuffled, average=average, **bins))
    null = result.chance(-1, average)
    assert null.mean() == pytest.approx(np.mean(values), abs=4 * np.std(values) / np.sqrt(150))
    assert null.std() == pytest.approx(np.std(values), rel=0.25)
