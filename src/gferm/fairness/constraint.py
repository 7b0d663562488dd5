"""The fairness constraint ‖B (Cᵀf − o)‖₁ ≤ scale·ε, without the rows it speaks of.

C holds m independent contrasts between cells (comparison.py); B adds them up to the gaps of every
compared pair; o is zero, or Cᵀy for match="residual". C has a row for each sample and is kept
beside the constraint, as long as the rows are there. A constraint knows who is compared: blocks of
cells, one for each (attribute, label bin). A block of m_b contrasts compares m_b + 1 cells, all
with all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import Membership, require_every_row_in_a_bin, sort_rows
from gferm.fairness.pair_norm import PairNorm
from gferm.fairness.sensitive import match_by_name, read_sensitive_features


@dataclass(frozen=True)
class Pair:
    """Two cells of one label bin: which attribute, which bin, which groups, how many rows."""

    attribute: str
    label_bin: str
    groups: tuple[str, str]
    counts: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Block:
    """The cells of one label bin and one attribute; those that are ``kept`` are compared.

    Pairs are many (Q²), so they are listed only when somebody asks.
    """

    attribute: str
    label_bin: str
    groups: tuple[str, ...]
    counts: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def size(self) -> int:
        """Independent contrasts between the cells that are kept."""
        return max(len(self.kept) - 1, 0)

    def pairs(self, *, compared: bool) -> Iterator[Pair]:
        """List the pairs that are compared, or those that are not."""
        kept = set(self.kept)
        candidates = self.kept if compared else range(len(self.groups))
        for p, q in combinations(candidates, 2):
            if compared or not {p, q} <= kept:
                yield Pair(
                    self.attribute,
                    self.label_bin,
                    (self.groups[p], self.groups[q]),
                    (self.counts[p], self.counts[q]),
                )


@dataclass(frozen=True, eq=False)
class Constraint:
    """Who is compared with whom, and how gaps are measured.

    Attributes
    ----------
    scheme : CellScheme
        The bins of label and attributes.
    blocks : tuple of Block
        One for each attribute and label bin, in the order of the contrasts.
    offset : array of shape (m,)
        o, what the contrasts are compared with.
    scale : float
        The bound on the sum over unordered pairs is scale·epsilon.
    match : {"prediction", "residual"}
        What is compared.
    """

    scheme: CellScheme
    blocks: tuple[Block, ...]
    offset: Array
    scale: float
    match: str = "prediction"

    @cached_property
    def compared(self) -> tuple[Pair, ...]:
        """The pairs in the constraint, in the order of `gaps`."""
        return tuple(pair for block in self.blocks for pair in block.pairs(compared=True))

    @cached_property
    def skipped(self) -> tuple[Pair, ...]:
        """The pairs left out because a cell holds fewer than ``min_cell_size`` rows."""
        return tuple(pair for block in self.blocks for pair in block.pairs(compared=False))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Columns in each block that has any; they sum to m."""
        return tuple(block.size for block in self.blocks if block.size)

    @property
    def n_contrasts(self) -> int:
        """m, the number of independent contrasts."""
        return int(self.offset.size)

    @cached_property
    def pairs(self) -> Array:
        """B, shape (n_pairs, m): which neighbouring contrasts add up to which pair."""
        spans = list(self._pair_spans())
        rows = np.zeros((len(spans), self.n_contrasts))
        for row, (start, stop) in zip(rows, spans, strict=True):
            row[start:stop] = 1.0
        return rows

    @cached_property
    def norm(self) -> PairNorm:
        """Ω, the sum of |gap| over the compared pairs as a function of the contrasts."""
        return PairNorm(self.sizes)

    def gaps(
        self,
        predictions: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any = None,
    ) -> Array:
        """Return the signed gap of every compared pair in any rows, in the order of ``compared``.

        Parameters
        ----------
        predictions : array of shape (n_samples,)
            For match="residual", predictions minus labels.
        y : array of shape (n_samples,)
            Labels, which say in which bin a row is.
        sensitive_features : array, Series, data frame or dict of columns
            With the names they had in `fit`.
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        array of shape (n_pairs,)
            NaN where these rows leave a cell empty.
        """
        values, labels = np.asarray(as_numpy(predictions)), np.asarray(as_numpy(y))
        if values.shape != labels.shape or labels.ndim != 1:
            raise ValueError(
                f"predictions has the shape {values.shape} and y {labels.shape}; pass one number "
                "and one label for each row."
            )
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                as_numpy(sample_weight), labels, dtype=np.float64, ensure_non_negative=True
            )
        columns = read_sensitive_features(sensitive_features, labels.size, like=(y,))
        columns = match_by_name(columns, self.scheme.names)
        rows = sort_rows(self.scheme, labels, columns, weight)
        require_every_row_in_a_bin(rows, labels, columns, all_bins_filled=False)
        tables = np.concatenate([*rows.means(values), _covariances(rows, values)], axis=None)
        gaps, start = [np.empty(0)], 0
        for block in self.blocks:
            one_covariance = block.attribute in self.scheme.scores
            size = 1 if one_covariance else len(block.groups)
            means = tables[start : start + size]
            start += size
            if one_covariance:
                gaps.append(means[: block.size])
            elif block.size:
                p, q = np.array([*combinations(block.kept, 2)]).T
                gaps.append(means[p] - means[q])
        return np.concatenate(gaps)

    def gaps_of(self, contrasts: Array) -> Array:
        """Return the gaps from the m values Cᵀf."""
        return self.norm.gaps(contrasts - self.offset)

    def violation_of(self, contrasts: Array) -> float:
        """Return the left-hand side of the constraint in the units of epsilon."""
        return self.norm.value(contrasts - self.offset) / self.scale

    def _pair_spans(self) -> Iterator[tuple[int, int]]:
        start = 0
        for size in self.sizes:
            yield from ((start + p, start + q) for p, q in combinations(range(size + 1), 2))
            start += size


def _covariances(rows: Membership, values: Array) -> Array:
    """Return the covariance of values with every score in every label bin, (n_scores, K)."""
    found = np.full((len(rows.scores), rows.scheme.label_bins.n_bins), np.nan)
    for j, score in enumerate(rows.scores):
        for k, inside in enumerate(rows.rows_of_labels):
            if inside.size:
                share = None if rows.weight is None else rows.weight[inside]
                around = score[inside] - np.average(score[inside], weights=share)
                found[j, k] = np.average(around * values[inside], weights=share)
    return found
