"""A model on disk: configuration, folder, single file and card, written completely or not at all."""
