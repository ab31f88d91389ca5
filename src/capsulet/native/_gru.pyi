# Pointers are integers. `sizes` is texts, steps, tokens, input size, hidden size, then lengths, offsets and positions.
# `weights` and `weight_gradients` have eight pointers, in the order of torch.nn.GRU.
def plan(lengths: int, texts: int, steps: int, offsets: int, positions: int, /) -> int: ...
def saved_size(tokens: int, hidden: int, /) -> int: ...
def forward(
    sizes: tuple[int, ...], inputs: int, weights: tuple[int, ...], saved: int, outputs: int, threads: int, /
) -> None: ...
def backward(
    sizes: tuple[int, ...],
    inputs: int,
    weights: tuple[int, ...],
    saved: int,
    output_gradients: int,
    input_gradients: int,
    weight_gradients: tuple[int, ...],
    threads: int,
    /,
) -> None: ...
def instruction_set() -> str: ...
def choose_instruction_set(name: str, /) -> None: ...
