"""What all displays share: colours, markers, axes, attributes, names as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from gferm.fairness.sensitive import UNNAMED

# Okabe and Ito's colours, told apart by colour-blind readers; the first two overlap well
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")

# Of lines and points: yellow is too faint for them, and markers also tell groups apart in grey.
# Seven colours and eight markers make 56 pairs before one comes back.
LINE_COLORS = (*COLORS[:6], COLORS[7])
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

FEW = 10  # rows: cells of fewer are drawn in another way

HAIR_SPACE = "\N{HAIR SPACE}"


def need_matplotlib() -> None:
    """Raise an ImportError with its remedy unless matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'gferm[plot]'.") from error


def axes(ax: Any, **figure: Any) -> Any:
    """Return the axes to draw on: the caller's, or new ones; ``figure`` goes to `subplots`."""
    if ax is not None:
        return ax
    need_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **figure)[1]


def tidy(ax: Any) -> None:
    """Remove two spines and draw a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)


def group_style(q: int) -> dict[str, str]:
    """Return the colour and the marker of the points of group q."""
    return {"color": LINE_COLORS[q % len(LINE_COLORS)], "marker": MARKERS[q % len(MARKERS)]}


def as_text(name: object, width: int = 30, *, lines: int = 2) -> str:
    r"""Return a name as Matplotlib shows it unchanged, in lines of about ``width`` characters.

    A name that needs more than ``lines`` loses its middle. Matplotlib would read "$x_1$" as a
    formula, and leave a name such as "_other" out of legends.

    Examples
    --------
    >>> from gferm.plotting.style import as_text
    >>> print(as_text("<b>$x_1$"))
    <b>\$x_1\$
    >>> as_text("a name of many words", width=12)
    'a name of many\nwords'
    """
    text = "\n".join(wrap(shortened(name, lines * width), width + 3))
    if text.count("$") > 1:  # a single one opens no formula
        text = text.replace("$", r"\$")
    return HAIR_SPACE + text if text.startswith("_") else text


def attribute_text(name: str) -> str:
    """Return the name of an attribute as it is written; nothing for one that came without."""
    return "" if name == UNNAMED else as_text(name)


def place_of(attribute: str | None, names: Sequence[str]) -> int:
    """Find the attribute to show among those compared each on its own; the only one is known."""
    if attribute is None and len(names) == 1:
        return 0
    if attribute is None:
        raise ValueError(
            f"sensitive_features has {len(names)} attributes compared each on its own, "
            f"{list(names)}, and one picture shows one of them: pass attribute={names[0]!r}, or "
            "intersectional=True for all their combinations."
        )
    if attribute not in names:
        raise ValueError(f"attribute={attribute!r} is not compared here; use one of {list(names)}.")
    return list(names).index(attribute)


def shortened(name: object, length: int) -> str:
    """Return a name of about ``length`` characters: a longer one keeps its beginning and end."""
    words = " ".join(str(name).split())
    half = length // 2
    if len(words) <= 2 * half + 1:
        return words
    return f"{words[:half].rstrip()} … {words[-half:].lstrip()}"
