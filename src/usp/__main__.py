"""Runs the command line as ``python -m usp``."""

from usp.cli.app import main

if __name__ == "__main__":
    main()
