"""Loaded by every Python that an example starts: it reaches the same websites as the example."""

import json
import os
import sys

from redirection import Redirection

Redirection(json.loads(os.environ["EXAMPLE_SITES"])).begin()
if "aiohttp" in sys.modules:  # which has read the certificates of the system
    verified = sys.modules["aiohttp.connector"]._SSL_CONTEXT_VERIFIED
    verified.load_verify_locations(os.environ["SSL_CERT_FILE"])
