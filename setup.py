"""The compiled parts: the core, which every model needs, and optional kernels for training. The rest is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

CORE, NATIVE = "core", "src/capsulet/native"
HEADERS = [str(header) for folder in (CORE, NATIVE) for header in Path(folder).glob("*.h")]
# no -march: function attributes name the instruction sets and the processor picks one at run time
COMMON = ["-O3", "-fno-math-errno"]


def kernel(name: str) -> Extension:
    """One module of kernels for training."""
    return Extension(
        f"capsulet.native._{name}",
        sources=[f"{NATIVE}/{name}.c"],
        depends=HEADERS,
        extra_compile_args=[*COMMON, "-ffp-contract=fast", "-pthread"],
        extra_link_args=["-pthread"],
        optional=True,  # without it, torch does the work
    )


core = Extension(
    "capsulet.native._core",
    sources=[f"{NATIVE}/core.c", *sorted(str(source) for source in Path(CORE).glob("*.c"))],
    depends=HEADERS,
    include_dirs=[CORE],
    # results are the same on every machine only without fused multiplications and additions
    extra_compile_args=["-std=c11", *COMMON, "-ffp-contract=off"],
    py_limited_api=True,
)

setup(
    ext_modules=[core, *map(kernel, ("gru", "noise", "routing", "words"))],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
