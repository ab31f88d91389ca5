"""A model on disk: its configuration, its folder, its single file, its card, and files written whole or not at all."""
