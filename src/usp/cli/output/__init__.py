"""What listings look like; the table of them is in :mod:`usp.cli.output.formats`."""
