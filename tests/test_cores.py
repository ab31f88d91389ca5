"""The number of cores follows machine, affinity mask and the CPU quota of control groups, in Python and in C alike."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capsulet import cores
from capsulet.runtime.session import count_threads

RUN = Path(__file__).parents[1] / "core" / "run"

# lines of /proc/self/cgroup, files below /sys/fs/cgroup, and the cores of the quota
TREES = {
    "no groups": ("", {}, None),
    "version 2": ("0::/a/b", {"a/b/cpu.max": "150000 100000\n"}, 1.5),
    "version 2 without a quota": ("0::/a", {"a/cpu.max": "max 100000\n", "cpu.max": "max 100000\n"}, None),
    "the group above": ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, 2.0),
    "the smallest": ("0::/a/b", {"a/b/cpu.max": "900000 100000", "cpu.max": "300000 100000"}, 3.0),
    "inside a container": ("0::/", {"cpu.max": "50000 100000"}, 0.5),
    "a path of the host": ("0::/docker/12ab", {"cpu.max": "100000 50000"}, 2.0),
    "version 1": (
        "3:cpuset:/\n2:cpu,cpuacct:/box\n1:memory:/box",
        {"cpu,cpuacct/box/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/box/cpu.cfs_period_us": "100000\n"},
        2.5,
    ),
    "version 1 above": (
        "1:cpuacct,cpu:/box/in\n0::/",
        {"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"},
        4.0,
    ),
    "version 1 without a quota": ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
    "both versions": (
        "1:cpu:/x\n0::/y",
        {"cpu/x/cpu.cfs_quota_us": "500000", "cpu/x/cpu.cfs_period_us": "100000", "unified/y/cpu.max": "3000 1000"},
        3.0,
    ),
    "another group": ("0::/a", {"b/cpu.max": "100000 100000"}, None),
    "other controllers": ("1:cpuset:/a", {"cpuset/a/cpu.max": "100000 100000"}, None),
    "damaged": ("0::/a\nnonsense\n:\n::\n", {"a/cpu.max": "", "cpu.max": "one two"}, None),
    "a period of nothing": ("0::/", {"cpu.max": "100000 0"}, None),
}


@pytest.fixture(params=TREES)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, float]:
    """A root folder with these groups, and the cores of their quota."""
    lines, files, quota = TREES[request.param]
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(lines)
    for name, content in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return f"{tmp_path}/", float("inf") if quota is None else quota


def test_the_quota_of_control_groups(tree: tuple[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    root, quota = tree
    assert cores.cpu_quota(root) == quota
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(32), raising=False)
    assert cores.available_cores(root) == max(1, int(min(32, quota)))


def test_the_smallest_of_machine_mask_and_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = f"{tmp_path}/"
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 6}, raising=False)
    assert cores.available_cores(nothing) == 3
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert cores.available_cores(nothing) == 2
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores.available_cores(nothing) == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores.available_cores(nothing) == 8


def test_prediction_and_training_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from capsulet.model import kernels

    monkeypatch.setattr("capsulet.runtime.session.available_cores", lambda: 7)
    assert count_threads(None) == 7
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    for quota, expected in ((1, 1), (3, 2), (8, 2)):  # a kernel uses two at most
        monkeypatch.setattr(kernels, "available_cores", lambda quota=quota: quota)
        with kernels.training_threads(None):
            assert kernels.threads() == expected
    with kernels.training_threads(2):
        assert kernels.threads() == 2, "the user decides"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], int]:
    """The function of capsulet-run."""
    library = tmp_path_factory.mktemp("cores") / "cores.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(RUN / "cores.c"), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).available_cores
    function.restype = ctypes.c_size_t
    return lambda root: int(function(root.encode()))


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are of Linux")
def test_the_command_counts_as_python_does(tree: tuple[str, float], in_c: Callable[[str], int]) -> None:
    root, quota = tree
    least = min(os.cpu_count() or 1, len(os.sched_getaffinity(0)))
    assert in_c(root) == cores.available_cores(root) == max(1, int(min(least, quota)))


def test_waiting_threads_sleep_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    cores.let_waiting_threads_sleep()
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    monkeypatch.setattr(os, "environ", {"GOMP_SPINCOUNT": "100"})
    cores.let_waiting_threads_sleep()
    assert os.environ == {"GOMP_SPINCOUNT": "100"}


def test_training_says_so_before_torch_is_loaded() -> None:
    program = (
        "import sys, os; from capsulet.training.installed import require_training\n"
        "assert 'torch' not in sys.modules; require_training(); assert 'torch' not in sys.modules\n"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "KMP_", "GOMP_"))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout == "passive\n", done.stderr
