"""Crawls loopback websites over and over, and watches what the process holds."""
