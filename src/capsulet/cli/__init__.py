"""The command line: one small file per verb. It parses arguments and prints; the library does the work."""
