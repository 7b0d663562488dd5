"""Bins in one word of a command line.

    10            ten bins of equal width           quantile:5    five with equal numbers of rows
    0,0.5,1       between these edges               -inf,0,inf    open at both ends
    auto          as the library chooses            continuous    no groups: --s-bins only
    age=5         --s-bins of one attribute; others keep theirs

For classes --y-bins takes ``classes`` (within each), ``1`` (all as one), or names of classes joined
by commas; a single name that is a number ends in a comma: ``1,``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.cli.columns import nearest, split_names
from gferm.cli.terminal import InputError
from gferm.fairness.bins import WORDS, Bins, BinsLike

HOW = "give a number of bins, edges such as 0,0.5,1, or quantile:5"


def read_label_bins(text: str | None) -> BinsLike | None:
    """Read --y-bins of a regression; None, the library's own, where there is none."""
    return None if text is None else _read(text, "--y-bins", words=())


def read_class_bins(text: str | None, y: npt.NDArray[Any]) -> Any:
    """Read --y-bins of a classification with the classes ``y``."""
    if text is None or text == "classes":
        return text
    if text.strip() == "1":
        return 1
    classes = {str(label): label for label in np.unique(y).tolist()}
    names = [text] if text in classes else split_names(text)
    for name in names:
        if name not in classes:
            raise InputError(f"--y-bins {name!r} is no class; {nearest(name, classes)}")
    return [classes[name] for name in names]


def read_group_bins(given: Sequence[str], attributes: Sequence[str]) -> Any:
    """Read --s-bins: one rule for all attributes, or some by name."""
    by_name: dict[str, BinsLike] = {}
    for text in given:
        name, _, rule = text.rpartition("=")
        if name and name not in attributes:
            raise InputError(
                f"--s-bins {text!r}: {name!r} is no --sensitive column; {nearest(name, attributes)}"
            )
        for attribute in (name,) if name else attributes:
            by_name[attribute] = _read(rule, f"--s-bins {name}".strip(), words=tuple(WORDS))
    return by_name or "auto"


def _read(text: str, option: str, words: Sequence[str]) -> BinsLike:
    rule, text = text.strip(), text.strip()
    if rule in words:
        return rule
    head, _, count = rule.partition(":")
    try:
        if head == "quantile":
            return Bins.quantile(int(count))
        if "," in rule:
            return Bins.edges([float(edge) for edge in rule.split(",")])
        number = int(rule)
    except ValueError as error:
        reason = f" ({error})" if str(error).startswith(("Bin", "bin")) else ""
        also = f", or {' or '.join(words)}" if words else ""
        raise InputError(
            f"{option} {text!r} is no way to make bins{reason}; {HOW}{also}."
        ) from error
    if number < 1:
        raise InputError(f"{option} {text!r} is no number of bins; {HOW}.")
    return number
