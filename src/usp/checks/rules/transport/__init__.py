"""Rules about how sitemaps are sent: type, size, compression, encoding."""

from usp.checks.rules.transport import compression, encodings, responses

__all__ = ["compression", "encodings", "responses"]
