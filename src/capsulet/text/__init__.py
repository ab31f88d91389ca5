"""Files to rows (reading.py), rows to tokens and ids (numbering.py, corpus_writer.py), ids to batches (batch.py).

preparation.py does all of it for a training. The token rules are in the core: core/unicode_tokens.c and core/tokens.c.
"""
