"""Runs the command line as ``python -m usp.cli``."""

from usp.cli.app import main

main()
