"""Names of the inputs and outputs of the ONNX graph; docs/reference/format.md describes them."""

IDS, TOKEN_COUNTS = "ids", "token_counts"
LENGTHS, NORMS, COUPLING, CONTRIBUTIONS, SHARES = "lengths", "norms", "coupling", "contributions", "shares"
CODES, EMBEDDED, DIRECTIONS, NGRAMS, DICTIONARY = "codes", "embedded", "directions", "ngrams", "dictionary"
ENCODER_KINDS = ("input", "recurrent", "bias")


def encoder_output(layer: int, kind: str) -> str:
    """Name of the output that gives one kind of weights of an encoder layer."""
    return f"gru{layer}_{kind}"
