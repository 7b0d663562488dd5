"""Judging: predictions of held-out rows in, error and unfairness of every setting out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.estimators.base import FairModel
from gferm.model_selection.held_out import HeldOut
from gferm.model_selection.measures import Measure, TestPart
from gferm.model_selection.rows import RowsOfKernel, SearchFold
from gferm.solver.crossval import Grid


def make_echo(model: FairModel, y: npt.NDArray[Any]) -> FairModel:
    """Return a model that predicts what it is given, for scorers that ask a model."""
    echo = type(model)(model.loss, kernel="linear")
    n_models = len(model.labels.targets(y))
    identity, zeros = np.eye(n_models), np.zeros(n_models)
    echo.coef_, echo.intercept_ = model.labels.shape(identity), model.labels.shape(zeros)
    echo.n_features_in_ = n_models
    for name, value in model.labels.learned(y).items():
        setattr(echo, name, value)
    return echo


@dataclass(frozen=True, eq=False)
class Judge:
    """What settings are judged by.

    Attributes
    ----------
    echo : FairModel
    error, unfairness : Measure
    sensitive : dict of arrays
        The sensitive attributes of all rows.
    """

    echo: FairModel
    error: Measure
    unfairness: Measure
    sensitive: dict[str, npt.NDArray[Any]]

    def __call__(self, predictions: Array, fold: SearchFold, own: RowsOfKernel) -> Array:
        """Return error, unfairness and whether there is a model at all, shape (3, n_settings)."""
        outputs = predictions.reshape(-1, *predictions.shape[-2:])
        usable = np.isfinite(outputs).all(axis=(1, 2))
        figures = np.full((3, len(outputs)), np.nan)
        figures[2] = usable
        if usable.any():
            part = self._part(outputs[usable], fold, own)
            figures[:2, usable] = self.error(part), self.unfairness(part)
        return figures

    def _part(self, outputs: Array, fold: SearchFold, own: RowsOfKernel) -> TestPart:
        test, rows = fold.test, own.rows
        columns = {name: values[test] for name, values in self.sensitive.items()} or None
        classes = getattr(self.echo, "classes_", None)
        return TestPart(
            y=rows.y[test],
            answers=self.echo.labels.answers(outputs, classes),
            outputs=outputs,
            weight=None if rows.weight is None else rows.weight[test],
            members=fold.members,
            sensitive=next(iter(columns.values())) if columns and len(columns) == 1 else columns,
        )


def judge_kernel(
    model: FairModel, own: RowsOfKernel, folds: Sequence[SearchFold], grid: Grid, judge: Judge
) -> tuple[Array, int]:
    """Return the figures of one kernel, shape (n_folds, 3, n_settings), and unconverged models.

    One unit of parallel work: everything it takes and gives can travel to another machine.
    """
    held_out = HeldOut(model, own.features(model), own.rows.y)
    found = held_out.predict(folds, grid)
    figures = [judge(values, fold, own) for values, fold in zip(found, folds, strict=True)]
    return np.array(figures), held_out.unconverged
