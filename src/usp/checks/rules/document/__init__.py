"""Rules about documents: their namespaces, their elements, what they contain."""

from usp.checks.rules.document import contents, elements, namespaces

__all__ = ["contents", "elements", "namespaces"]
