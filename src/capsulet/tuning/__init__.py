"""Learning curves, and the search for better options."""
