"""The optional compiled kernels; everything else about the package is in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "capsulet.native._gru",
            sources=["src/capsulet/native/gru.c"],
            depends=["src/capsulet/native/gru_kernel.h"],
            # no -march: function attributes name the instruction sets and the processor picks one at run time
            extra_compile_args=["-O3", "-ffp-contract=fast", "-pthread"],
            extra_link_args=["-pthread"],
            optional=True,  # without a compiler the package installs all the same and torch does the work
        ),
        Extension(
            "capsulet.native._words",
            sources=["src/capsulet/native/words.c"],
            extra_compile_args=["-O3"],
            optional=True,
        ),
    ]
)
