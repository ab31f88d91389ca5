_Plan = tuple[int, int, int, int]
_Pair = tuple[int, int]
_Weights = tuple[int, int, int, int]

def plan(lengths: int, texts: int, steps: int, offsets: int, positions: int) -> int: ...
def forward(
    plan: _Plan,
    sizes: tuple[int, int, int],
    inputs: int,
    outputs: int,
    weights: _Weights,
    reverse_weights: _Weights,
    gates: _Pair,
    states: _Pair,
    threads: int,
) -> None: ...
def backward(
    plan: _Plan,
    sizes: tuple[int, int, int, int],
    output_gradients: int,
    weights_hh: _Pair,
    gates: _Pair,
    states: _Pair,
    gate_gradients: _Pair,
    previous: _Pair,
    threads: int,
) -> None: ...
def instruction_set() -> tuple[str, int]: ...
def choose(name: str) -> None: ...
