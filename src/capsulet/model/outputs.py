"""Names of the inputs and outputs of the ONNX graph; docs/reference/format.md describes them."""

IDS, TOKEN_COUNTS = "ids", "token_counts"
LENGTHS, NORMS, COUPLING, CONTRIBUTIONS = "lengths", "norms", "coupling", "contributions"
