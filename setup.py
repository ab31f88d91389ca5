"""The optional compiled kernels; everything else about the package is in pyproject.toml."""

from setuptools import Extension, setup

NATIVE = "src/capsulet/native"


def kernel(name: str) -> Extension:
    """One module of compiled code."""
    return Extension(
        f"capsulet.native._{name}",
        sources=[f"{NATIVE}/{name}.c"],
        depends=[f"{NATIVE}/{header}.h" for header in ("common", "vector", f"{name}_kernel")],
        # no -march: function attributes name the instruction sets and the processor picks one at run time
        extra_compile_args=["-O3", "-ffp-contract=fast", "-fno-math-errno", "-pthread"],
        extra_link_args=["-pthread"],
        optional=True,  # without a compiler the package installs all the same and torch does the work
    )


setup(ext_modules=[kernel("gru"), kernel("routing")])
