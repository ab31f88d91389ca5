"""Check labelled files. check.py is the verb; survey.py reads the rows, finder.py and suspects.py find problems."""
