"""certificate(): what can be guaranteed about a fitted model, and what cannot.

Two parts, each with probability 1 − δ: the theorem of the paper, from the rows of training
(theorem.py), and intervals from rows that the model never saw (held_out.py). The first explains why
the method works and is vacuous for most samples; the second is the one to use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any

from sklearn.utils import check_scalar

from gferm.bounds.held_out import HeldOutBounds, bound_held_out
from gferm.bounds.held_out_rows import HeldOutRows, read_held_out
from gferm.bounds.presentation import BoundsOfModel, json_of, records_of, sentences_of
from gferm.bounds.theorem import apply_theorem, why_silent
from gferm.fairness.bins import BinsLike
from gferm.fairness.cells import SensitiveBins


@dataclass(frozen=True, eq=False)
class Certificate(BoundsOfModel):
    """What holds for a model with probability 1 − δ; print it for a verdict.

    Attributes
    ----------
    delta : float
        Of each part on its own; both hold together with probability 1 − 2δ.
    held_out : HeldOutBounds
        Simultaneous, distribution-free intervals from the rows given: the ones to use.
    theorem : TheoremBounds or None
        The theorem's ε̂ and its bounds of unfairness and risk, from the training rows.
    silent : str or None
        Why there is no theorem.
    notes : tuple of str
        Assumptions that the numbers rest on, and rows that were left out or clipped.
    """

    def __str__(self) -> str:
        return "\n".join(sentences_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types; numbers that are not finite become None."""
        return json_of(self)

    def to_json(self, **options: Any) -> str:
        """Return `to_dict` as JSON; ``options`` go to json.dumps."""
        return json.dumps(self.to_dict(), **{"ensure_ascii": False, "allow_nan": False, **options})

    def to_frame(self, of: str = "bounds") -> Any:
        """Return a tidy pandas DataFrame.

        Parameters
        ----------
        of : {"bounds", "cells", "pairs"}, default="bounds"
            The bounds of both parts; or the held-out intervals of every cell, or of every pair.
        """
        import pandas as pd

        return pd.DataFrame(records_of(self, of))

    def _repr_html_(self) -> str:
        rows = records_of(self, "bounds")
        header = "".join(f"<th>{escape(name)}</th>" for name in rows[0]) if rows else ""
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(_written(cell))}</td>" for cell in row.values())
            + "</tr>"
            for row in rows
        )
        return (
            f"<div><pre>{escape(str(self))}</pre><table><thead><tr>{header}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )


def certificate(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: None = None,
    delta: float = 0.05,
    radius: float | None = None,
    kappa: float | None = None,
    y_range: tuple[float, float] | None = None,
    epsilon: float | None = None,
    y_bins: BinsLike | None = None,
    s_bins: SensitiveBins | None = None,
    intersectional: bool | None = None,
) -> Certificate:
    """Certify the fairness of a fitted model on rows it NEVER SAW.

    **X, y and sensitive_features must be held out**: rows that took no part in training, in
    choosing settings or in choosing this model among others. On rows it has seen, the intervals
    are too narrow.

    Parameters
    ----------
    model : estimator
        A fitted FairRegressor or FairClassifier, or a search over these (the number of kernels it
        tried is accounted for). Of any other fitted predictor the held-out part is given.
    X, y, sensitive_features
        Held-out rows, drawn independently like those of training.
    sample_weight : None
        Weights are refused: the inequalities need rows that count alike.
    delta : float, default=0.05
        Each part of the certificate fails with at most this probability.
    radius : float, default=None
        R of the theorem, **fixed before the fit**: a bound of the norm of the weights, with the
        intercept among them. None: all radii 2^j at once, at the price of a part of delta.
    kappa : float, default=None
        sup √k(x, x) over all rows there can be, for kernels where it is not 1. None: the largest
        over the rows at hand, which is noted as an assumption.
    y_range : (float, float), default=None
        A range that holds for every y there can be, and to which predictions are clipped for the
        intervals of their means. None: the outer edges of y_bins, else the range seen, which is
        noted as an assumption. For classes it is only what decisions are clipped to, by default
        (−1, 1).
    epsilon : float, default=None
        The ε of the theorem's f*, in the units of the model's epsilon, which is the default. Give
        it if the model was trained with a wider ε̂.
    y_bins, s_bins, intersectional
        Only for models without cells of their own; fixed beforehand, not read off the rows.

    Returns
    -------
    Certificate

    Notes
    -----
    The theorem takes an intercept as the weight of one more feature, 1 for everybody. Its risk is
    that of the loss that was learned, not the share of mistakes. Of several models against the rest
    the worst is bounded.

    Examples
    --------
    >>> from gferm import FairRegressor, certificate
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(4000, random_state=0, return_X_y=True)
    >>> model = FairRegressor(kernel="linear", epsilon=0.1, y_bins=[-20, 0, 20])
    >>> model = model.fit(X[:2000], y[:2000], sensitive_features=s[:2000])
    >>> found = certificate(model, X[2000:], y[2000:], sensitive_features=s[2000:])
    >>> interval = found.held_out.gaps["prediction"]
    >>> interval.low <= interval.seen <= interval.high < interval.largest
    True
    >>> interval.high < found.theorem.per_pair(found.theorem.fairness.value)
    True
    """
    check_scalar(delta, "delta", Real, min_val=0, max_val=1, include_boundaries="neither")
    for name, value in (("radius", radius), ("kappa", kappa)):
        if value is not None:
            check_scalar(value, name, Real, min_val=0, include_boundaries="neither")
    if epsilon is not None:
        check_scalar(epsilon, "epsilon", Real, min_val=0)
    if sample_weight is not None:
        raise ValueError(
            "sample_weight is not possible here: the inequalities are about independent rows that "
            "count alike. Leave it out, or certify a sample drawn with these weights."
        )
    rows = read_held_out(
        model,
        X,
        y,
        sensitive_features=sensitive_features,
        y_bins=y_bins,
        s_bins=s_bins,
        intersectional=intersectional,
        y_range=y_range,
    )
    held_out = bound_held_out(rows, float(delta))
    silent, theorem = why_silent(rows), None
    if silent is None:
        theorem = apply_theorem(rows, float(delta), radius=radius, kappa=kappa, epsilon=epsilon)
    notes = [*_about_rows(rows, held_out), *(theorem.assumptions if theorem else ())]
    return Certificate(float(delta), held_out, theorem, silent, tuple(notes))


def _about_rows(rows: HeldOutRows, bounds: HeldOutBounds) -> Iterator[str]:
    if bounds.outside:
        yield f"{bounds.outside} rows given lie in no bin of the model and are left out."
    if rows.familiar:
        yield (
            f"{rows.familiar} of {rows.y.size} rows given equal a training row. If they are the "
            "same rows, the held-out intervals do not hold."
        )
    if rows.values is not None:
        yield (
            f"predictions are clipped to {rows.span}, for the intervals of their means; "
            f"{bounds.clipped} of {rows.y.size} rows lay outside."
        )
        if rows.span.assumed_held_out:
            yield (
                "that range was read off the rows given, so these intervals assume that it holds "
                "for all rows. Pass y_range= to state it."
            )
    for score in rows.cells.scores:
        yield f"{score} is continuous and has no cells: nothing is certified about it."


def _written(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
