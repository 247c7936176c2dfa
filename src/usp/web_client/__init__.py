"""HTTP clients: the interface a user's own client implements, and the one on ``requests``."""

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from usp.web_client import abstract_client as abstract_client
    from usp.web_client import requests_client as requests_client
else:
    __getattr__ = lazy_getattr(__name__)
