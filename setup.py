"""The compiled parts: the core, which models need, and kernels for training. The rest is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

CORE, NATIVE = "core", "src/capsulet/native"
HEADERS = [str(header) for folder in (CORE, NATIVE) for header in Path(folder).glob("*.h")]
# no -march: function attributes name the instruction sets and the processor picks one at run time
COMMON = ["-O3", "-g0", "-fno-math-errno"]
EXACT = "-ffp-contract=off"  # fused products would give other results on other machines


def kernel(name: str) -> Extension:
    """One module of kernels for training."""
    return Extension(
        f"capsulet.native._{name}",
        sources=[f"{NATIVE}/{name}.c"],
        depends=HEADERS,
        include_dirs=[CORE],
        extra_compile_args=[*COMMON, "-ffp-contract=fast", "-pthread"],
        extra_link_args=["-pthread"],
        py_limited_api=True,
        optional=True,  # without it, torch does the work
    )


core = Extension(
    "capsulet.native._core",
    sources=[f"{NATIVE}/core.c", f"{NATIVE}/ngrams.c", *sorted(str(source) for source in Path(CORE).glob("*.c"))],
    depends=HEADERS,
    include_dirs=[CORE],
    extra_compile_args=["-std=c11", *COMMON, EXACT],
    py_limited_api=True,
)
permutation = Extension(
    "capsulet.native._permutation",
    sources=[f"{NATIVE}/permutation.c"],
    extra_compile_args=[*COMMON, EXACT],
    py_limited_api=True,
)

setup(
    ext_modules=[core, permutation, *map(kernel, ("gru", "noise", "routing", "rows"))],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
