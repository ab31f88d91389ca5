"""Names of choices that modules below and beside the options use."""

PIECES, SIMILAR, APART = "pieces", "similar", "apart"  # how unknown words are read
UNICODE, PAPER = "unicode", "paper"  # token rules
NO_NETWORK = "n-gram features only, no network"  # what a model without a network says about itself
COSINE, DOT = "cosine", "dot"  # agreement of k-means routing
PRINTED, SOFTMAX = "printed", "softmax"  # focal loss
PROBABILITIES, LOGITS = "probabilities", "logits"  # margin loss of a linear head
NORMAL, XAVIER = "normal", "xavier"  # first matrices between capsules
