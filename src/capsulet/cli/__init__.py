"""The command line: one small file a verb. Parsing is here, work is in the library."""
