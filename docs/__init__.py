"""Documentation, and the programs that write its generated parts: `python -m docs` runs all of them."""
