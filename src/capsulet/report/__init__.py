"""Reports and explanations as HTML pages that need no network, and their charts."""
