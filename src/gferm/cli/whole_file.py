"""Files that are there whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gferm.cli.terminal import InputError


def require_writable(
    path: Path, *, option: str = "--out", keep: Sequence[Path | None] = ()
) -> None:
    """Refuse a place that cannot be written to, before the work is done.

    Parameters
    ----------
    path : Path
    option : str
        What the user called it.
    keep : sequence of Path or None
        What is read, and must not be written over.
    """
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():  # renaming would put a file in place of a device
        raise InputError(f"{option} {path} is no ordinary file; choose another name.")
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}; make it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: {folder} cannot be written to; choose another place.")
    for read in keep:
        if read is not None and path.exists() and read.exists() and path.samefile(read):
            raise InputError(f"{option} {path} is a file that is read; choose another name.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Return a path to write to; it becomes ``path`` once all went well, else it is removed."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)
