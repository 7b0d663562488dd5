"""Judging: predictions of held-out rows in, error and unfairness of every setting out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.estimators.base import FairModel
from gferm.estimators.classifier import FairClassifier
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.training import TrainingData
from gferm.model_selection.folds import SearchFold
from gferm.model_selection.held_out import HeldOut
from gferm.model_selection.measures import Measure, TestPart
from gferm.solver.crossval import Grid


class _Echo:
    """Predicts what it is given, for scorers that ask a model."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _predict_models(self, X: Any) -> Array:
        return np.asarray(X).T


class EchoRegressor(_Echo, FairRegressor):
    """Takes the numbers it is given for its predictions."""


class EchoClassifier(_Echo, FairClassifier):
    """Takes the numbers it is given for its decisions; ``classes_`` must be set."""


@dataclass(frozen=True, eq=False)
class Judge:
    """What settings are judged by.

    Attributes
    ----------
    echo : EchoRegressor or EchoClassifier
    error, unfairness : Measure
    sensitive : dict of arrays
        The sensitive attributes of all rows.
    """

    echo: Any
    error: Measure
    unfairness: Measure
    sensitive: dict[str, npt.NDArray[Any]]

    def __call__(self, predictions: Array, fold: SearchFold, data: TrainingData) -> Array:
        """Return error, unfairness and whether there is a model at all, shape (3, n_settings)."""
        outputs = predictions.reshape(-1, *predictions.shape[-2:])
        usable = np.isfinite(outputs).all(axis=(1, 2))
        figures = np.full((3, len(outputs)), np.nan)
        figures[2] = usable
        if usable.any():
            part = self._part(outputs[usable], fold, data)
            figures[:2, usable] = self.error(part), self.unfairness(part)
        return figures

    def _part(self, outputs: Array, fold: SearchFold, data: TrainingData) -> TestPart:
        test = fold.test
        columns = {name: values[test] for name, values in self.sensitive.items()} or None
        return TestPart(
            y=data.y[test],
            answers=self.echo._answers(outputs),
            outputs=outputs,
            weight=None if data.weight is None else data.weight[test],
            cells=fold.cells,
            sensitive=next(iter(columns.values())) if columns and len(columns) == 1 else columns,
        )


def judge_kernel(
    model: FairModel, data: TrainingData, folds: Sequence[SearchFold], grid: Grid, judge: Judge
) -> tuple[Array, int]:
    """Return the figures of one kernel, shape (n_folds, 3, n_settings), and the unconverged models.

    One unit of parallel work: everything it takes and gives can travel to another machine.
    """
    held_out = HeldOut(model, data)
    found = held_out.predict(folds, grid)
    figures = [judge(values, fold, data) for values, fold in zip(found, folds, strict=True)]
    return np.array(figures), held_out.unconverged
