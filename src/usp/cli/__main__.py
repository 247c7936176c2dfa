"""Runs the command line as ``python -m usp.cli``."""

from usp.cli import main

main()
