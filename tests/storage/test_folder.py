"""A model folder is written whole or not at all, and destroys nothing else."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import capsulet
from capsulet import native
from capsulet.cli.main import main
from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.storage import atomic
from capsulet.storage.atomic import check_place, write_file
from capsulet.storage.folder import (
    CARD,
    FILES,
    LOG,
    check_target,
    is_model,
    read_card,
    read_config,
    read_log,
    write_folder,
)
from capsulet.storage.model_file import MODEL, read_model
from capsulet.storage.tensors import from_bytes, pack
from tests.storage.handmade import whole

TINY = ["--network", "always", "--epochs", "1", "--min-count", "1", "--hidden-size", "8", "--threads", "1"]


def contents(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def write(path: Path, command: str = "a command", card: bytes = b"a card") -> None:
    write_folder(path, whole(command=command), card, b"a log")


def command(path: Path) -> str:
    return read_model(path).config.command


# writing


def test_a_folder_is_what_was_written(tmp_path: Path) -> None:
    write(tmp_path / "new" / "model")
    found = contents(tmp_path / "new" / "model")
    assert found == {MODEL: whole(command="a command"), CARD: b"a card", LOG: b"a log"}
    assert read_config(tmp_path / "new" / "model").command == "a command"
    assert read_config(tmp_path / "new" / "model" / MODEL).command == "a command"
    assert (read_card(tmp_path / "new" / "model"), read_log(tmp_path / "new" / "model")) == (b"a card", b"a log")


def test_an_empty_log_is_no_file(tmp_path: Path) -> None:
    write(tmp_path / "model")
    write_folder(tmp_path / "model", whole(), b"a card", b"")
    assert set(contents(tmp_path / "model")) == {MODEL, CARD} and read_log(tmp_path / "model") == b""


def test_a_folder_without_card_and_log(tmp_path: Path) -> None:
    write(tmp_path / "model")
    for name in (CARD, LOG):
        (tmp_path / "model" / name).unlink()
    assert (read_card(tmp_path / "model"), read_log(tmp_path / "model")) == (b"# A card\n", b"")


def test_an_older_model_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path / "model", "1", card=b"old")
    write(tmp_path / "model", "2")
    assert contents(tmp_path / "model")[CARD] == b"a card"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def old_model(folder: Path, version: int = 2) -> Path:
    """A model folder of an older format."""
    folder.mkdir()
    for name in (*FILES, "tokenizer.json", "model.onnx"):
        (folder / name).write_bytes(b"old")
    (folder / "config.json").write_text(json.dumps({"format_version": version, "files": {}, "labels": ["a", "b"]}))
    return folder


def test_a_model_of_an_older_format_says_so_and_may_be_replaced(tmp_path: Path) -> None:
    folder = old_model(tmp_path / "model")
    for read in (read_config, read_model):
        with pytest.raises(ModelError) as caught:
            read(folder)
        assert str(caught.value) == f"{folder} has format 2, this capsulet reads format 5: train the model again"
    assert is_model(folder)
    write(folder)
    assert set(contents(folder)) == set(FILES)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no model\.safetensors, so it is not a model: name a folder that"):
        read_config(tmp_path)
    (tmp_path / MODEL).mkdir()
    with pytest.raises(ModelError, match=r"model\.safetensors is not a regular file"):
        read_config(tmp_path)


def test_without_the_system_call_two_renames_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    write(tmp_path / "model", "1")
    write(tmp_path / "model", "2")
    assert command(tmp_path / "model") == "2"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_write_that_fails_leaves_the_old_model(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model", "old")
    before, real, calls = contents(tmp_path / "model"), write_file, []

    def fail_later(path: Path, data: bytes) -> None:
        calls.append(path)
        if len(calls) > number:
            path.write_bytes(data[:2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, data)

    monkeypatch.setattr(atomic, "write_file", fail_later)
    with pytest.raises(CapsuletError, match=r"model could not be written: No space left on device; .*unchanged"):
        write(tmp_path / "model", "new")
    assert len(calls) == number + 1
    assert contents(tmp_path / "model") == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() or not mount:
        pytest.skip("mounting a small disk needs root")
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this system does not let us mount")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv", "a.parquet"])
def test_answers_that_do_not_fit_on_the_disk(name: str, small_disk: Path, model: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    dice = random.Random(1)
    texts.write_text("text\n" + "".join(f"{dice.getrandbits(900):x}\n" for _ in range(4_000)))
    words = [sys.executable, "-m", "capsulet", "predict", model, texts, "--out", small_disk / name]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done.stderr
    assert "No space left on device" in done.stderr and not any(small_disk.iterdir())


@pytest.mark.parametrize("room", ["none", "for the first model"])
def test_a_full_disk(
    room: str, small_disk: Path, model: Path, rows_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old model stays, or the n-gram features if they are written before the network does not fit."""
    shutil.copytree(model, small_disk / "model")
    before = contents(small_disk / "model")
    if room == "none":
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        (small_disk / "ballast").write_bytes(bytes(max(free - 8192, 0)))
    call = ["train", str(rows_file), "--out", str(small_disk / "model"), *TINY, "--hidden-size", "128"]
    assert main([*call, "--valid", str(rows_file), "--checkpoint-seconds", "1e9"]) == 1
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert "No space left on device" in complaint
    if room == "none":
        assert complaint.startswith(f"capsulet: {small_disk / 'model'} could not be written: ")
        assert contents(small_disk / "model") == before
    else:
        assert read_config(small_disk / "model").linear_only and capsulet.load(small_disk / "model").predict(["match"])
    assert {entry.name for entry in small_disk.iterdir()} - {"ballast"} == {"model"}


def test_kill_in_the_middle_of_saving(tmp_path: Path) -> None:
    code = (
        "import sys, itertools; from pathlib import Path; from capsulet.storage.folder import write_folder\n"
        "from tests.storage.handmade import whole\n"
        "for number in itertools.count():\n"
        "    model = whole(command=str(number))\n"
        "    write_folder(Path(sys.argv[1]), model, str(number).encode(), 50_000 * b' ' + str(number).encode())\n"
        "    print('.', flush=True)\n"
    )
    folder = tmp_path / "model"
    for delay in (0.0, 0.011, 0.023, 0.037, 0.053):
        process = subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert command(folder) == read_card(folder).decode() == read_log(folder).decode().strip()
        assert set(contents(folder)) == set(FILES)


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    for mask, folder_mode, file_mode in ((0o022, 0o755, 0o644), (0o077, 0o700, 0o600)):
        old = os.umask(mask)
        try:
            write(tmp_path / "model")
            assert os.umask(mask) == mask, "write_folder changed it"
        finally:
            os.umask(old)
        assert (tmp_path / "model").stat().st_mode & 0o777 == folder_mode
        assert (tmp_path / "model" / MODEL).stat().st_mode & 0o777 == file_mode


def test_a_link_to_a_model_stays_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", "1")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "2")
    assert (tmp_path / "link").is_symlink()
    assert command(tmp_path / "real") == "2"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "real"]


def test_an_empty_folder_and_a_long_name_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    write(tmp_path / ("m" * 255))
    assert len(list(tmp_path.iterdir())) == 2


def foreign_file(place: Path) -> Path:
    write(place / "model")
    (place / "model" / "thesis.tex").write_text("")
    return place / "model"


def foreign_model(place: Path) -> Path:
    """Other libraries call their files the same."""
    for name in FILES:
        (place / name).write_bytes(pack({"a": from_bytes(b"a")}, {"format": "pt"}))
    return place


def foreign_configuration(place: Path) -> Path:
    """Other libraries have a file of the name that older formats had."""
    foreign_model(place)
    (place / "config.json").write_text('{"model_type": "bert"}')
    return place


def folder_of_a_file_name(place: Path) -> Path:
    write(place / "model")
    (place / "model" / CARD).unlink()
    (place / "model" / CARD).mkdir()
    return place / "model"


def only_a_log(place: Path) -> Path:
    (place / LOG).write_text("")
    return place


def plain_file(place: Path) -> Path:
    (place / "model").write_text("mine")
    return place / "model"


def below_a_file(place: Path) -> Path:
    return plain_file(place) / "model"


def dangling_link(place: Path) -> Path:
    (place / "model").symlink_to("nowhere")
    return place / "model"


def circle(place: Path) -> Path:
    (place / "one").symlink_to("two")
    (place / "two").symlink_to("one")
    return place / "one" / "model"


REFUSED: dict[Callable[[Path], Path], str] = {
    foreign_file: "holds 'thesis.tex', which is not part of a model",
    foreign_model: "holds files, but not a capsulet model",
    foreign_configuration: "holds 'config.json', which is not part of a model",
    folder_of_a_file_name: "holds 'README.md', which is not part of a model",
    only_a_log: "holds files, but not a capsulet model",
    plain_file: "is a file, expected a folder",
    below_a_file: "cannot be written to",
    dangling_link: "is a broken link",
    circle: "cannot be written to",
    lambda place: place / ("m" * 300): "cannot be written to (File name too long)",
    lambda place: place / "nul\0": "cannot be written to",
}


@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_places_that_are_refused(make: Callable[[Path], Path], tmp_path: Path) -> None:
    target = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        write(target)
    assert REFUSED[make] in str(caught.value)
    assert caught.value.message.endswith("choose another --out")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("spelling", [".", "", "missing/..", "../here", "missing/../../here"])
def test_the_current_folder_is_refused(spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "thesis.tex").write_text("mine")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="is the current folder"):
        write(Path(spelling))
    assert Path("thesis.tex").read_text() == "mine"


def test_a_folder_that_is_not_ours_to_write_is_refused() -> None:
    code = (
        "import os, sys; from pathlib import Path; from capsulet import errors\n"
        "from capsulet.storage.folder import check_target\n"
        "os.setuid(65534) if os.getuid() == 0 else None\n"
        "try: check_target(Path(sys.argv[1]) / 'deep' / 'model')\n"
        "except errors.InputError as error: print(error)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
        assert done.stdout == f"{folder} cannot be written to: choose another out=…\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_folder_whose_permissions_promise_too_much_is_refused() -> None:
    with pytest.raises(InputError, match=r"^/proc cannot be written to: choose another out=…$"):
        check_target(Path("/proc/deep/model"))
    with pytest.raises(InputError, match=r"^/proc/x.svg cannot be written, because no file can be created in /proc"):
        check_place(Path("/proc/x.svg"))


def test_a_place_that_is_looked_at_stays_as_it_was(tmp_path: Path) -> None:
    check_place(tmp_path / "deep" / "file.svg")
    assert list(tmp_path.iterdir()) == []


# the same seed gives the same bytes


def weights(folder: Path) -> dict[str, bytes]:
    """The tensors of a model but its configuration and card, which name the options of the training."""
    tensors = read_model(folder).tensors.items()
    return {name: bytes(tensor.data) for name, tensor in tensors if name not in ("config", "card")}


@pytest.mark.slow
def test_equal_seeds_give_equal_bytes_in_two_processes(rows_file: Path, tmp_path: Path) -> None:
    call = ["train", str(rows_file), *TINY, "--epochs", "2"]
    assert main([*call, "--out", str(tmp_path / "one")]) == 0
    assert main([*call, "--out", str(tmp_path / "three"), "--seed", "2"]) == 0
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    other = [sys.executable, "-m", "capsulet", *call, "--out", tmp_path / "deep" / "two"]
    subprocess.run(other, check=True, capture_output=True, env=environment)
    one, two, three = (contents(tmp_path / name) for name in ("one", "deep/two", "three"))
    assert set(one) == set(FILES)
    assert one == two
    assert one[MODEL] != three[MODEL]
    assert read_model(tmp_path / "one").words == read_model(tmp_path / "three").words
    if native.available(native.gru) and native.available(native.routing):  # torch's own products may differ
        assert main([*call, "--threads", "2", "--out", str(tmp_path / "four")]) == 0
        assert weights(tmp_path / "four") == weights(tmp_path / "one")


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead = done.stdout.strip()
    names = (f".model.{os.getpid()}.abc.part", f".model.{dead}.abc.part", f".models.{dead}.abc.part")
    mine, theirs, other = (tmp_path / name for name in names)
    for folder in (mine, theirs, other):
        folder.mkdir()
        (folder / MODEL).write_text("half")
    write(tmp_path / "model")
    assert mine.exists() and other.exists() and not theirs.exists()


def test_a_folder_inside_a_model_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "model")
    with pytest.raises(InputError, match="is inside the model"):
        check_target(tmp_path / "model" / "deep" / "sub")
