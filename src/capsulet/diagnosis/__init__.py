"""`doctor`: what is installed, what works, and what to do if something does not."""
