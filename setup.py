"""The compiled kernels, which are optional, and the permutation test; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = "src/capsulet/native"


def kernel(name: str) -> Extension:
    """One module of compiled code."""
    return Extension(
        f"capsulet.native._{name}",
        sources=[f"{NATIVE}/{name}.c"],
        depends=[str(header) for header in Path(NATIVE).glob("*.h")],
        # no -march: function attributes name the instruction sets and the processor picks one at run time
        extra_compile_args=["-O3", "-ffp-contract=fast", "-fno-math-errno", "-pthread"],
        extra_link_args=["-pthread"],
        optional=True,  # without a compiler the package installs all the same and torch does the work
    )


PERMUTATION = Extension(
    "capsulet.native._permutation",
    sources=[f"{NATIVE}/permutation.c"],
    extra_compile_args=["-O2", "-ffp-contract=off"],  # contracted products would give other results on other machines
    py_limited_api=True,
)

setup(ext_modules=[*(kernel(name) for name in ("gru", "noise", "routing", "words")), PERMUTATION])
