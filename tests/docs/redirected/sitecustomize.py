"""Loaded by every Python that an example starts: it reaches the same websites as the example."""

import json
import os

from redirection import Redirection

Redirection(json.loads(os.environ["EXAMPLE_SITES"])).begin()
