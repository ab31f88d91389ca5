"""What is wrong with labelled files before anything is trained on them, and which labels a model doubts."""
