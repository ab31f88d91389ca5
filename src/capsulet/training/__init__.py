"""Train a model. run.py is the verb; it calls linear_stage.py, then network_stage.py, which combines both (mixture.py).

The linear model: features.py, linear.py and solver.py; ngram_table.py stores it. The network: planning.py, loop.py,
optimiser.py and cross_validation.py. growth.py extends a trained model.
"""
