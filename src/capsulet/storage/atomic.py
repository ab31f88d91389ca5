"""Files and folders that are written whole or not at all.

Each is written beside its place, flushed to the disk, and then put in its place in one step. A crash or a full disk
leaves what was there before. What a killed process left behind is removed by the next write.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from capsulet.errors import CapsuletError, InputError

LONGEST_NAME = 32  # characters of the target's name in the name of a part: file systems limit names


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def check_place(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written."""
    if (closed := closed_folder(path.resolve())) is not None:
        raise InputError(f"{path} cannot be written, {closed} takes no new files: choose another place")


def closed_folder(place: Path) -> Path | None:
    """The nearest existing folder above this absolute path, if no new file can be created in it.

    Only trying tells: the permissions of /sys, or of a disk without a free inode, say yes.
    """
    existing = next(folder for folder in place.parents if folder.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=existing):
            return None
    except OSError:
        return existing


def replace_file(path: Path, *pieces: bytes, check: Callable[[Path], None] = lambda part: None) -> None:
    """Write a file; `check` sees the new file before it takes the place of the old one."""
    part = path.with_name(f".{path.name[:LONGEST_NAME]}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path)
        write_file(part, *pieces)
        check(part)
        part.replace(path)
    except OSError as error:
        raise CapsuletError(
            f"{path} could not be written: {error.strerror or error}; what was there is unchanged"
        ) from None
    finally:
        part.unlink(missing_ok=True)


def replace_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of these files; an older folder is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    prefix = f".{path.name[:LONGEST_NAME]}.{os.getpid()}."
    fresh = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=path.parent))
    try:
        for name, data in files.items():
            write_file(fresh / name, data)
        fresh.chmod(0o777 & ~current_umask())  # mkdtemp makes it private
        swap(fresh, path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # after a swap this is the old folder


def write_file(path: Path, *pieces: bytes) -> None:
    """Write and flush to the disk, so that a full disk is noticed now."""
    with path.open("wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def sweep(path: Path) -> None:
    """Remove the parts that killed processes left beside this path."""
    for left in path.parent.glob(f".{glob.escape(path.name[:LONGEST_NAME])}.*.part"):
        process = left.name.removeprefix(f".{path.name[:LONGEST_NAME]}.").split(".")[0]
        if process.isdecimal() and not is_running(int(process)):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether a process with this number exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


def swap(fresh: Path, path: Path) -> None:
    """Put the new folder in the place of the old one; afterwards `fresh` is the old one or nothing."""
    if not path.exists():
        fresh.rename(path)
    elif not exchange(fresh, path):
        # Two renames leave a moment without a folder; only where the system cannot do it in one.
        aside = fresh.with_suffix(".old")
        path.rename(aside)
        try:
            fresh.rename(path)
        except OSError:
            aside.rename(path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, where the system can (Linux: renameat2)."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(AttributeError, OSError):
        at_current_folder, exchange_both = -100, 2
        renameat2 = ctypes.CDLL(None).renameat2
        return bool(
            renameat2(at_current_folder, os.fsencode(one), at_current_folder, os.fsencode(other), exchange_both) == 0
        )
    return False


def current_umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
