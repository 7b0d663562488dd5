"""One repeat of every table of the paper on this machine's CPU, beside the run on a GPU.

The records of the first repeat are compared, number by number, with those in results/crime, which
were computed on the device that its run.json names.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reproduction.paper import FOLDS
from reproduction.reproduce import reproduce

from benchmarks.measure import Row, publish

RESULTS = Path(__file__).parents[1] / "results" / "crime"
STUDIES = ("binary", "continuous")


def run() -> bool:
    with TemporaryDirectory() as out:
        made = reproduce("all", repeats=1, out=Path(out))
        ours = {study: _lines((made.folder / f"{study}.jsonl").read_bytes()) for study in STUDIES}
    theirs = {
        study: _lines(lzma.decompress((RESULTS / f"{study}.jsonl.xz").read_bytes()))[:FOLDS]
        for study in STUDIES
    }
    pairs = list(zip(_leaves(ours), _leaves(theirs), strict=True))
    both = [isinstance(a, float) and isinstance(b, float) for a, b in pairs]
    numbers = [pair for pair, numeric in zip(pairs, both, strict=True) if numeric]
    others = sum(a != b for (a, b), numeric in zip(pairs, both, strict=True) if not numeric)
    largest = max(abs(a - b) / max(1.0, abs(b)) for a, b in numbers)
    (gpu,) = json.loads((RESULTS / "run.json").read_bytes())
    device = gpu["device"]
    rows = [
        Row("one repeat of all tables, CPU", "12 minutes", made.seconds, 720, made.seconds, 720),
        Row(f"30 repeats, {device}", "5 minutes", gpu["seconds"], 300, gpu["seconds"], 300),
        Row(
            f"largest difference of {len(numbers)} numbers in the records",
            device,
            largest,
            0,
            largest,
            1e-6,
            "",
        ),
        Row("other entries that differ", device, others, 0, others, 0, ""),
    ]
    return publish("reproduction", rows, gpu=gpu)


def _lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]


def _leaves(value: Any) -> Iterator[Any]:
    """Return the keys and values of nested lists and dicts, in order."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
