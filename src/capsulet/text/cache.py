"""Cache of tokenised texts: one folder of corpora for each combination of files and options.

The name of an entry is a digest of the contents of the files and of all options that change the corpora. The digest of
a file is stored together with its size and modification time. A second run reads the digest and not the file.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from capsulet.errors import InputError
from capsulet.text.corpus import DESCRIPTION, file_digest

try:
    import fcntl
except ImportError:  # Windows: unfinished entries of a killed process stay until the user removes them
    fcntl = None  # type: ignore[assignment]

FORMAT = 4
SETTLED_NANOSECONDS = 2 * 10**9  # a file that was just written may change again with the same modification time
LIMIT_BYTES = 20 * 10**9  # above this size, the least recently used entries are removed
PARTIAL, LOCK = ".part", "lock"


def default_folder() -> Path:
    """Return $CAPSULET_CACHE, or `capsulet` in the cache folder of the user."""
    user_folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CAPSULET_CACHE") or Path(user_folder) / "capsulet")


class Cache:
    """Entries in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "contents").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"{folder} cannot be used for tokenised texts ({error.strerror or error})"
            raise InputError(f"{reason}: name another folder with --cache, or use --no-cache") from None

    def key(self, files: Mapping[str, list[str]], settings: Mapping[str, Any]) -> str:
        """Return the name of the entry for these files and settings."""
        contents = {
            role: [[self.content(Path(path)), "".join(Path(path).suffixes[-2:]).lower()] for path in paths]
            for role, paths in files.items()
        }
        made_from = {"format": FORMAT, "files": contents, **settings}
        return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:32]

    def content(self, path: Path) -> str:
        """Return the SHA-256 of a file: the stored one if size, modification time and inode are unchanged."""
        info = path.stat()
        status = [info.st_size, info.st_mtime_ns, info.st_ino]
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
        note = self.folder / "contents" / f"{name}.json"
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(note.read_bytes())
            if known["status"] == status:
                return str(known["sha256"])
        hashed_at = time.time_ns()
        digest = str(file_digest(path)["sha256"])
        if hashed_at - info.st_mtime_ns > SETTLED_NANOSECONDS:
            with contextlib.suppress(OSError):  # without the note, the next run hashes the file again
                part = note.with_suffix(f".{os.getpid()}{PARTIAL}")
                part.write_text(json.dumps({"status": status, "sha256": digest}))
                part.replace(note)
        return digest

    def entry(self, key: str) -> Path:
        """Return the folder of an entry, which need not exist."""
        return self.folder / key

    @contextlib.contextmanager
    def building(self, key: str) -> Iterator[Path]:
        """Yield a new folder, which becomes the entry if no error is raised."""
        self.sweep()
        fresh = Path(tempfile.mkdtemp(prefix=f"{key}.", suffix=PARTIAL, dir=self.folder))
        try:
            with (fresh / LOCK).open("w") as lock:
                if fcntl:
                    fcntl.flock(lock, fcntl.LOCK_EX)  # held until the process ends, even if it is killed
                yield fresh
                (fresh / LOCK).unlink()
                shutil.rmtree(self.entry(key), ignore_errors=True)  # a process that has it open can still read it
                with contextlib.suppress(FileExistsError):  # another process has built the same entry
                    fresh.rename(self.entry(key))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        self.prune(keep=key)

    def touch(self, key: str) -> None:
        """Mark an entry as used now."""
        with contextlib.suppress(OSError):
            os.utime(self.entry(key) / DESCRIPTION)

    def sweep(self) -> None:
        """Remove unfinished entries of processes that no longer run."""
        for folder in self.folder.glob(f"*{PARTIAL}") if fcntl else ():
            with contextlib.suppress(OSError), (folder / LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises OSError while the process runs
                shutil.rmtree(folder, ignore_errors=True)

    def prune(self, keep: str) -> None:
        """Remove the least recently used entries, except `keep`, while all entries together are too large."""
        entries = []
        for description in self.folder.glob(f"*/{DESCRIPTION}"):
            with contextlib.suppress(OSError):
                size = sum(file.stat().st_size for file in description.parent.iterdir())
                entries.append((description.stat().st_mtime, size, description.parent))
        total = sum(size for _, size, _ in entries)
        for _, size, folder in sorted(entries):
            if total > LIMIT_BYTES and folder.name != keep and folder.suffix != PARTIAL:
                shutil.rmtree(folder, ignore_errors=True)
                total -= size
