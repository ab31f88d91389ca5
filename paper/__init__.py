"""Every table and figure of the paper again: published figures beside ours, each with the command that makes it.

python -m paper parameters
python -m paper losses --data DIR --sets ag_news --seeds 1 2 3
python -m paper losses --data DIR --sets ag_news_61k --budget rows=20000 epochs=3
"""
