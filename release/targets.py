"""The systems that wheels are built for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A system: its name here, the compiler's name for it, and the platform tag of its wheels."""

    name: str
    triple: str
    tag: str

    @property
    def system(self) -> str:
        """linux, macos or windows."""
        return self.triple.split("-")[1].split(".")[0]

    @property
    def processor(self) -> str:
        """x86_64 or aarch64."""
        return self.triple.split("-")[0]

    @property
    def suffix(self) -> str:
        """How the files of stable-ABI modules end."""
        return ".pyd" if self.system == "windows" else ".abi3.so"


TARGETS = (
    Target("linux-x86_64", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64"),
    Target("linux-arm64", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    Target("musl-x86_64", "x86_64-linux-musl", "musllinux_1_2_x86_64"),
    Target("musl-arm64", "aarch64-linux-musl", "musllinux_1_2_aarch64"),
    Target("macos-x86_64", "x86_64-macos.11.0", "macosx_11_0_x86_64"),
    Target("macos-arm64", "aarch64-macos.11.0", "macosx_11_0_arm64"),
    Target("windows-x86_64", "x86_64-windows-gnu", "win_amd64"),
    Target("windows-arm64", "aarch64-windows-gnu", "win_arm64"),
)


def named(name: str) -> Target:
    """The target of this name."""
    return next(target for target in TARGETS if target.name == name)
