"""Reproduce every table and figure of the paper: published figures next to ours, with the commands that made them.

python -m paper parameters
python -m paper losses --data DIR --sets ag_news --seeds 1 2 3
python -m paper losses --data DIR --sets ag_news_61k --budget rows=20000 epochs=3
"""
