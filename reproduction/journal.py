"""A journal of finished work: one JSON line for each piece, safe against being killed.

A line is on disk, whole, before the next piece of work begins. A line that was cut short is dropped
when the journal is opened again; so work goes on where it stopped and the file ends with the same
bytes as if nothing had happened. For that, records hold no times.

A folder belongs to the settings in its ``settings.json``, and every line has their stamp: other
settings are refused, never mixed. It belongs to one run at a time. Finished files may be kept
packed, as ``.jsonl.xz``.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from reproduction import ExperimentError

SETTINGS, LOCK, PART, STAMP = "settings.json", ".lock", ".part", "settings"
DIGITS = 7  # what is left of a float: more than is ever shown, fewer than rounding reaches


def open_folder(folder: Path, settings: Mapping[str, Any]) -> str:
    """Make the folder, or check that its results have the same settings, and return their stamp.

    Raises
    ------
    ExperimentError
        If it holds the results of other settings, or cannot be written to.
    """
    path, wanted = folder / SETTINGS, json.loads(json.dumps(settings))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _read_object(path.read_bytes()) if path.exists() else None
    except (OSError, ValueError) as error:
        raise _unusable(folder, error) from error
    if found is None:
        write_whole(path, json.dumps(wanted, indent=2) + "\n")
        return stamp_of(wanted)
    different = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
    if different:
        listed = ", ".join(
            f"{key} ({_short(found.get(key))} there, {_short(wanted.get(key))} now)"
            for key in different
        )
        raise ExperimentError(
            f"{folder} holds results of other settings: {listed}. To go on with those, ask for "
            f"the same again; to start anew, choose another --out or delete {folder}."
        )
    for part in folder.glob(f"*{PART}"):  # a run was killed while it wrote them
        with suppress(OSError):  # what follows tells more
            part.unlink()
    return stamp_of(wanted)


def stamp_of(settings: Mapping[str, Any]) -> str:
    """Return the start of the hash of some settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other runs; one that is killed lets go of it.

    Raises
    ------
    ExperimentError
        If another run is at work there, or the folder cannot be written to.
    """
    try:
        import fcntl
    except ImportError:  # Windows: two runs in one folder are not kept apart
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("w")
    except OSError as error:
        raise _unusable(folder, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ExperimentError(
                f"{folder} is in use by another run. Wait for it to end, or choose another --out."
            ) from error
        except OSError:  # a file system without locks
            pass
        yield


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(path.name + PART)
    try:
        with part.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):  # the first error tells more
            part.unlink()
        raise ExperimentError(
            f"{path} could not be written: {error.strerror or error}. Put that right and run the "
            "same command again to go on."
        ) from error


class Journal:
    """The records of one file, those of earlier runs first.

    Attributes
    ----------
    path : Path
    stamp : str
        Of the settings that every record must come from.
    records : list of dict
    """

    def __init__(self, path: Path, stamp: str) -> None:
        self.path, self.stamp = path, stamp
        self.records: list[dict[str, Any]] = []
        packed = path.with_name(f"{path.name}.xz")
        try:
            self._recover(packed)
        except (EOFError, OSError, lzma.LZMAError) as error:
            reason = getattr(error, "strerror", None) or error
            at_fault = path if path.exists() else packed
            raise ExperimentError(
                f"{at_fault} cannot be read: {reason}. Delete the file to compute it anew."
            ) from error

    def _recover(self, packed: Path) -> None:
        if not self.path.exists() and packed.exists():
            write_whole(self.path, lzma.decompress(packed.read_bytes()))
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):  # the last line was cut short
            os.truncate(self.path, whole)
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                record = _read_object(line)
            except ValueError as error:
                raise ExperimentError(
                    f"{self.path} is damaged in line {number}: {error}. Delete the file to compute "
                    "it anew."
                ) from error
            if record.get(STAMP) != self.stamp:
                raise ExperimentError(
                    f"{self.path} holds a record of other settings in line {number}. Delete the "
                    f"file to compute it anew, or to have {packed.name} in its place if that is "
                    "there."
                )
            self.records.append(record)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a record to disk, with the stamp."""
        stamped = rounded({STAMP: self.stamp, **record})
        line = json.dumps(stamped, separators=(",", ":"), allow_nan=False) + "\n"
        before = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):  # what cannot be cut now is cut when the journal is opened
                os.truncate(self.path, before)
            raise ExperimentError(
                f"{self.path} could not be written: {error.strerror or error}. "
                f"{len(self.records)} records are safe; make room and run the same command again "
                "to go on."
            ) from error
        self.records.append(json.loads(line))


def require_enough_repeats(journal: Journal, repeats: int, lines: int) -> None:
    """Raise an error if a journal holds more repeats, of so many lines each, than are asked for.

    Raises
    ------
    ExperimentError
    """
    there = -(-len(journal.records) // lines)
    if there > repeats:
        raise ExperimentError(
            f"{journal.path} holds {there} repeats, more than --repeats {repeats}. Ask for "
            f"--repeats {there}, or choose another --out."
        )


def rounded(value: Any) -> Any:
    """Return lists and dicts with every float rounded, and None for what is not a number.

    NumPy's numbers and arrays become Python's.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _unusable(folder: Path, error: Exception) -> ExperimentError:
    return ExperimentError(f"{folder} cannot be used for results: {error}. Choose another --out.")


def _read_object(content: bytes) -> dict[str, Any]:
    """Return a JSON object; raise ValueError for anything else."""
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError(f"not a JSON object but {_short(found)}")
    return found


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
