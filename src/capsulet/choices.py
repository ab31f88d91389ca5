"""Names of choices that modules below and beside the options use."""

PIECES, SIMILAR, APART = "pieces", "similar", "apart"  # how unknown words are read
UNICODE, PAPER = "unicode", "paper"  # token rules
NO_NETWORK = "n-gram features only, no network"  # what a model without a network says about itself
