"""Runs the command line as ``python -m usp``."""

from usp.cli import main

if __name__ == "__main__":
    main()
