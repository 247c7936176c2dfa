"""Benchmarks of usp against its peers, over loopback HTTP; see bench/README.md."""
