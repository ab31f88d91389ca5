"""`python -m capsulet` is the command `capsulet`."""

import os
import sys

from capsulet.cli.main import main

if __name__ == "__main__":
    status = main()
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # A worker of torchrun: threads of its process group may still run, and would abort the process if Python shut
        # down normally. All output is already flushed.
        os._exit(status)
    sys.exit(status)
