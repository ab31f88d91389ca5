"""`capsulet serve`: an HTTP server for one or several models, and its page."""
