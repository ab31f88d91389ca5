"""`python -m capsulet` is `capsulet`."""

from capsulet.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
