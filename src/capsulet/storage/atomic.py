"""Write files and folders completely or not at all.

A new file or folder is written beside its place, flushed to the disk, and moved into its place in one step. A crash or
a full disk leaves the old one unchanged. The next write removes the parts that a killed process left.
"""

import contextlib
import ctypes
import glob
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from capsulet.errors import CapsuletError, InputError

LONGEST_NAME = 32  # characters of the target's name in the name of a part: file systems limit names


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def check_place(path: Path, ending: str = "") -> None:
    """Refuse a file that could not be written or has another ending, before any work is done."""
    if ending and path.suffix != ending:
        example = f"{path.stem or 'file'}{ending}"
        raise InputError(f"{path} does not end in {ending}: name the file to write, such as {example}")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the file to write")
    if (closed := closed_folder(path.resolve())) is not None:
        raise InputError(f"{path} cannot be written, because no file can be created in {closed}: choose another folder")


def check_not_read(path: Path, inputs: Iterable[object]) -> None:
    """Refuse to write a file that is also read; `inputs` are paths, or data of other kinds."""
    for source in inputs:
        if isinstance(source, (str, os.PathLike)) and path.exists() and Path(source).exists() and path.samefile(source):
            raise InputError(f"{path} is also an input, which writing would replace: choose another file")


def closed_folder(place: Path) -> Path | None:
    """The nearest existing folder above this absolute path, if no file can be created in it.

    It tries to create a file: /sys and a disk without free inodes refuse new files although permissions allow them.
    """
    existing = next(folder for folder in place.parents if folder.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=existing):
            return None
    except OSError:
        return existing


def replace_file(path: Path, *pieces: bytes, check: Callable[[Path], None] = lambda part: None) -> None:
    """Write a file; `check` gets the new file before it replaces the old one."""
    part = path.with_name(f".{path.name[:LONGEST_NAME]}.{os.getpid()}.part")
    try:
        with prepared(path):
            write_file(part, *pieces)
            check(part)
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def replace_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of these files; an older folder is replaced."""
    prefix = f".{path.name[:LONGEST_NAME]}.{os.getpid()}."
    with prepared(path), contextlib.ExitStack() as cleanup:
        fresh = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=path.parent))
        cleanup.callback(shutil.rmtree, fresh, ignore_errors=True)  # after a swap this is the old folder
        for name, data in files.items():
            write_file(fresh / name, data)
        os.umask(mask := os.umask(0))
        fresh.chmod(0o777 & ~mask)  # mkdtemp makes it private
        swap(fresh, path)


@contextlib.contextmanager
def prepared(path: Path) -> Iterator[None]:
    """Create the parent folder and remove old parts; turn system errors into messages."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path)
        yield
    except OSError as error:
        reason = error.strerror or error
        raise CapsuletError(f"{path} could not be written: {reason}; an existing file is unchanged") from None


def write_file(path: Path, *pieces: bytes) -> None:
    """Write a file and flush it to the disk, so that a full disk is noticed now."""
    with path.open("wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def sweep(path: Path) -> None:
    """Remove the parts that killed processes left beside this path."""
    prefix = f".{path.name[:LONGEST_NAME]}."
    for part in path.parent.glob(f"{glob.escape(prefix)}*.part"):
        process = part.name.removeprefix(prefix).split(".")[0]
        if process.isdecimal() and not is_running(int(process)):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether a process with this number exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # a process of another user
        pass
    return True


def swap(fresh: Path, path: Path) -> None:
    """Move the new folder into its place; afterwards `fresh` is the old folder or does not exist."""
    if not path.exists():
        fresh.rename(path)
    elif not exchange(fresh, path):
        # between two renames there is no folder, so they are used only if the system cannot swap in one step
        aside = fresh.with_suffix(".old")
        path.rename(aside)
        try:
            fresh.rename(path)
        except OSError:
            aside.rename(path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one step and return True, if the system can do it (Linux: renameat2)."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(AttributeError, OSError):
        current, swap_both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        status = ctypes.CDLL(None).renameat2(current, os.fsencode(first), current, os.fsencode(second), swap_both)
        return bool(status == 0)
    return False
