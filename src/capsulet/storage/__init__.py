"""A model on disk: folder.py writes the model folder, model_file.py the model file in it, tensors.py its layout."""
