"""Workers that die: by a site that kills whoever reads it, or before they have begun."""

from __future__ import annotations

import os
import signal

from usp.fleet import process

POISON = "poison"


def dies_of_poison(pipe, options, place, commit_seconds):
    """Work as a worker does, and die as soon as a site with a certain name is given."""
    parcels = process._Line.parcels

    def tasted(self):
        for parcel in parcels(self):
            if any(POISON in site for site, _ in parcel):
                os.kill(os.getpid(), signal.SIGKILL)
            yield parcel

    process._Line.parcels = tasted
    process.work(pipe, options, place, commit_seconds)


def never_begins(pipe, options, place, commit_seconds):
    os._exit(7)


def has_no_room(pipe, options, place, commit_seconds):
    pipe.send(("broken", "OSError: [Errno 28] No space left on device"))
