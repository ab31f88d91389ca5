"""How a model was trained and how it fares, as one HTML page that needs no network."""
