"""Workers that die: by a site that kills whoever reads it, or before they have begun."""

from __future__ import annotations

import os
import signal

from usp.fleet import engines

POISON = "poison"


def dies_of_poison(pipe, job):
    """Work as a worker does, and die as soon as a site with a certain name is given."""
    batches = engines._Driver.batches

    def tasted(self):
        for batch in batches(self):
            if any(POISON in site for site, _ in batch):
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    engines._Driver.batches = tasted
    engines.work(pipe, job)


def never_begins(pipe, job):
    os._exit(7)


def has_no_room(pipe, job):
    pipe.send("OSError: [Errno 28] No space left on device")
