"""The plan of an audit: its settings, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gferm.fairness.fairness_losses import FairnessLoss, fairness_loss

LEAST = {"n_boot": 0, "n_permutations": 0, "min_cell_size": 1, "small_cell_size": 1}


@dataclass(frozen=True)
class Plan:
    """How to audit; see `gferm.audit` for the settings."""

    intersectional: bool
    loss: str | FairnessLoss
    min_cell_size: int
    small_cell_size: int
    n_boot: int
    ci_quantiles: tuple[float, ...]
    n_permutations: int
    random_state: Any = field(repr=False)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            count = getattr(self, name)
            if not isinstance(count, Integral) or isinstance(count, bool) or count < least:
                raise ValueError(f"{name}={count!r} must be an integer of at least {least}.")
        if not isinstance(self.intersectional, (bool, np.bool_)):
            raise ValueError(f"intersectional={self.intersectional!r} must be True or False.")
        fairness_loss(self.loss)  # unknown names are refused even where no loss is needed
        object.__setattr__(self, "ci_quantiles", read_levels(self.ci_quantiles))

    def stream(self) -> np.random.Generator:
        """Begin the random numbers."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as plain values; a loss of one's own by its name."""
        found = asdict(self) | {"loss": getattr(self.loss, "__name__", str(self.loss))}
        found.pop("random_state")
        return found


def read_levels(ci_quantiles: Sequence[float]) -> tuple[float, ...]:
    """Check the quantiles of intervals."""
    try:
        levels = np.asarray(ci_quantiles, dtype=float)
    except (TypeError, ValueError):
        levels = np.empty(0)
    increasing = levels.ndim == 1 and levels.size > 1 and bool((np.diff(levels) > 0).all())
    if not increasing or levels[0] <= 0 or levels[-1] >= 1:
        raise ValueError(
            f"ci_quantiles={ci_quantiles!r} must be at least two increasing numbers between 0 and "
            "1, such as (0.025, 0.975)."
        )
    return tuple(levels.tolist())
