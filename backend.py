"""Build backend: setuptools, with the C compiler of the PyPI package `ziglang` on machines that have none."""

import os
import shutil
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ZIG = "ziglang>=0.13"


def has_compiler() -> bool:
    """Whether setuptools finds a C compiler on this machine."""
    if os.name == "nt":
        return shutil.which("cl") is not None or "VSINSTALLDIR" in os.environ
    return any(map(shutil.which, (os.environ.get("CC", "cc").split()[0], "cc", "gcc", "clang")))


def requirements() -> list[str]:
    """What a build needs beyond setuptools."""
    return [] if has_compiler() else [ZIG]


def use_zig() -> None:
    """Make setuptools call the compiler of the package `ziglang` if there is no other."""
    if not has_compiler():
        compiler = f"{sys.executable} -m ziglang cc"
        os.environ.update(CC=compiler, CXX=f"{sys.executable} -m ziglang c++", LDSHARED=f"{compiler} -shared")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_editable(config_settings), *requirements()]


def build_wheel(directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    use_zig()
    return build_meta.build_wheel(directory, config_settings, metadata_directory)


def build_editable(directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    use_zig()
    return build_meta.build_editable(directory, config_settings, metadata_directory)
