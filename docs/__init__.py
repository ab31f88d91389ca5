"""Documentation, and the program that writes its generated part."""
