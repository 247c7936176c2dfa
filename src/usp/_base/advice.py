"""What to do about a failure, as a reason says it: in the words of a program.

The command line says the same in words of its own (``usp.cli.hints``), and finds these by what the
functions here return. So whoever changes the words changes both.
"""

from __future__ import annotations


def raise_limit(name: str) -> str:
    """Return how a limit is raised."""
    return f"raise it with Limits({name}=…), on the command line with --max {name}=…"


def allow_network(entry: str) -> str:
    """Return how a private address is allowed."""
    return f'Zones(allow=("{entry}",)) or --allow-network {entry} permits it'


BLOCKED = (
    "the server turns robots away: try another user_agent, fewer requests at a time, or a pause"
    " between them"
)

UNTRUSTED = "pass the issuer's certificates as verify='ca.pem', or skip the check by verify=False"
