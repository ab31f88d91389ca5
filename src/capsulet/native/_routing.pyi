# Pointers are integers, strides are in floats. `sizes` is texts, primary capsules, classes, length, iterations; `votes`
# and `vote_gradients` are a pointer and the strides of the first two axes. Zero for `kept` or a gradient means none.
def kept_size(sizes: tuple[int, ...], /) -> int: ...
def forward(
    sizes: tuple[int, ...],
    scale: bool,
    votes: tuple[int, int, int],
    kept: int,
    capsules: int,
    coupling: int,
    threads: int,
    /,
) -> None: ...
def backward(
    sizes: tuple[int, ...],
    scale: bool,
    votes: tuple[int, int, int],
    kept: int,
    capsule_gradients: int,
    coupling_gradients: int,
    vote_gradients: tuple[int, int, int],
    threads: int,
    /,
) -> None: ...
def instruction_set() -> str: ...
def choose_instruction_set(name: str, /) -> None: ...
