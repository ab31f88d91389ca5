"""Choose the texts whose labels would help a model most."""
