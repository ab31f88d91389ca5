"""Names of option values that are also used outside config.py."""

PIECES, SIMILAR, APART = "pieces", "similar", "apart"  # how unknown words are read
UNICODE, PAPER = "unicode", "paper"  # token rules
NO_NETWORK = "n-gram features only, no network"  # how a model without a network is described
COSINE, DOT = "cosine", "dot"  # agreement of k-means routing
PRINTED, SOFTMAX = "printed", "softmax"  # focal loss
PROBABILITIES, LOGITS = "probabilities", "logits"  # margin loss of a linear head
NORMAL, XAVIER = "normal", "xavier"  # initial matrices between capsules
