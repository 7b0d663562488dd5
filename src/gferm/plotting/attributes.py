"""Which sensitive attribute a picture shows, where several are compared each on its own."""

from __future__ import annotations

from collections.abc import Sequence


def place_of(attribute: str | None, names: Sequence[str]) -> int:
    """Find the attribute asked for; the only one need not be named.

    Parameters
    ----------
    attribute : str or None
    names : sequence of str
        The attributes there are.
    """
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
