"""Rules about the URLs of pages."""

from usp.checks.rules.urls import places, repeats, writing

__all__ = ["places", "repeats", "writing"]
