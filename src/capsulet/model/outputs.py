"""Names of the inputs and outputs of the ONNX graph; docs/reference/format.md describes them."""

IDS, TOKEN_COUNTS, NGRAMS = "ids", "token_counts", "ngrams"
LENGTHS, NORMS, COUPLING, CONTRIBUTIONS = "lengths", "norms", "coupling", "contributions"
