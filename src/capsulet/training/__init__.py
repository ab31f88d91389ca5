"""Train a model. run.py is the verb; it calls linear_stage.py, then network_stage.py.

Both stages get the texts and options (setup.py) and the user and other processes (context.py). Each returns a model
with the texts that it was measured on (measured_model.py). The second stage combines both models (mixture.py).

The linear model: features.py, linear.py and solver.py; ngram_table.py stores it. The network: network_plan.py decides
what is trained, with the arithmetic of planning.py; then loop.py, optimiser.py and cross_validation.py. resuming.py and
checkpoint.py continue an interrupted training. growth.py extends a trained model (old_model.py) without its texts.
"""
