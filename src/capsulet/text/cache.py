"""Where tokenised texts are kept between runs: a folder of corpora for every set of texts and way to read them.

An entry's name is a digest of what it was made from: the contents of the files, how they are read, and how words are
chosen. Contents are hashed once; a small note beside the entries says which digest a file had at which size and time of
change, so a second start does not read the texts at all.
"""

from __future__ import annotations

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

from capsulet.errors import CapsuletError
from capsulet.text.corpus import DESCRIPTION, file_digest

try:
    import fcntl
except ImportError:  # Windows: what a killed process leaves there stays until somebody removes it
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
SETTLED_NANOSECONDS = 2 * 10**9  # a file that was just written may change again without a new time of change
LIMIT_BYTES = 20 * 10**9  # entries used longest ago make room for new ones
PARTIAL, LOCK = ".part", "lock"


def default_folder() -> Path:
    """$CAPSULET_CACHE, or `capsulet` in the user's folder for such things."""
    said = os.environ.get("CAPSULET_CACHE")
    if said:
        return Path(said)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "capsulet"


class Cache:
    """Entries in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "contents").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CapsuletError(
                f"{folder} cannot be used for tokenised texts ({error.strerror or error}): "
                "name another folder with --cache, or say --no-cache"
            ) from None

    def key(self, files: Mapping[str, list[str]], settings: Mapping[str, Any]) -> str:
        """The name of the entry for these files, read in this way."""
        contents = {
            role: [[self.content(Path(path)), "".join(Path(path).suffixes[-2:]).lower()] for path in paths]
            for role, paths in files.items()
        }
        made_from = {"format": FORMAT, "files": contents, **settings}
        return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:32]

    def content(self, path: Path) -> str:
        """SHA-256 of a file, from the note if it has not changed since."""
        status = path.stat()
        found = [status.st_size, status.st_mtime_ns, status.st_ino]
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
        note = self.folder / "contents" / f"{name}.json"
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(note.read_bytes())
            if known["status"] == found:
                return str(known["sha256"])
        hashed_at = time.time_ns()
        digest = str(file_digest(path)["sha256"])
        if hashed_at - status.st_mtime_ns > SETTLED_NANOSECONDS:
            with contextlib.suppress(OSError):  # a convenience: without it the file is hashed again next time
                part = note.with_suffix(f".{os.getpid()}{PARTIAL}")
                part.write_text(json.dumps({"status": found, "sha256": digest}))
                part.replace(note)
        return digest

    def entry(self, key: str) -> Path:
        """Where an entry is, or would be."""
        return self.folder / key

    @contextlib.contextmanager
    def building(self, key: str) -> Iterator[Path]:
        """A new folder that becomes the entry when everything went well."""
        self.sweep()
        fresh = Path(tempfile.mkdtemp(prefix=f"{key}.", suffix=PARTIAL, dir=self.folder))
        try:
            with (fresh / LOCK).open("w") as lock:
                if fcntl:
                    fcntl.flock(lock, fcntl.LOCK_EX)  # until this process ends, however it ends
                yield fresh
                (fresh / LOCK).unlink()
                self.drop(key)
                with contextlib.suppress(FileExistsError):  # another process was faster, with the same contents
                    fresh.rename(self.entry(key))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        self.prune(keep=key)

    def drop(self, key: str) -> None:
        """Remove an entry; whoever has it open keeps it."""
        shutil.rmtree(self.entry(key), ignore_errors=True)

    def touch(self, key: str) -> None:
        """The entry was used now."""
        with contextlib.suppress(OSError):
            os.utime(self.entry(key) / DESCRIPTION)

    def sweep(self) -> None:
        """Remove what processes that are gone have left unfinished."""
        for folder in self.folder.glob(f"*{PARTIAL}") if fcntl else ():
            with contextlib.suppress(OSError), (folder / LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the process lives
                shutil.rmtree(folder, ignore_errors=True)

    def prune(self, keep: str) -> None:
        """Remove the entries used longest ago while all together are too large."""
        entries = []
        for description in self.folder.glob(f"*/{DESCRIPTION}"):
            with contextlib.suppress(OSError):
                folder = description.parent
                size = sum(file.stat().st_size for file in folder.iterdir())
                entries.append((description.stat().st_mtime, size, folder))
        total = sum(size for _, size, _ in entries)
        for _, size, folder in sorted(entries):
            if total <= LIMIT_BYTES:
                break
            if folder.name != keep and not folder.name.endswith(PARTIAL):
                shutil.rmtree(folder, ignore_errors=True)
                total -= size
