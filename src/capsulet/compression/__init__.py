"""Compress a model to one small file. compress.py is the verb; goal.py runs the search of search.py or linear.py."""
