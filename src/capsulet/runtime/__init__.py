"""Use a trained model, without any other package: classifier.py is the interface, session.py calls the C core.

The core is bound to Python by native/core.c. The work of a prediction is in core/network.c, and in core/linear.c for a
model without a network.
"""
