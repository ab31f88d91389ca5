"""The shapes of requests and responses: our own, and those of clients of other servers."""
