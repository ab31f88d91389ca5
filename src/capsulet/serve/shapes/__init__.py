"""The shapes of requests and responses: our own, and those that clients of other servers speak."""
