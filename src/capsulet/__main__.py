"""`python -m capsulet` is the command `capsulet`."""

import os
import sys

from capsulet.cli.main import main

if __name__ == "__main__":
    status = main()
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # A worker of torchrun: threads of its group may still run, and one that asks for the interpreter while that
        # takes itself apart aborts the process. All is written and flushed; there is nothing left to take apart.
        os._exit(status)
    sys.exit(status)
