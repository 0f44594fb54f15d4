"""What the user is told, each text once."""

from __future__ import annotations

import logging

log = logging.getLogger("gearshift")

MOST_TEXTS = 64


class TellOnce:
    """Logs a warning, but never the same one twice."""

    def __init__(self):
        self._told = set()

    def __call__(self, message: str, **details):
        if message not in self._told and len(self._told) < MOST_TEXTS:
            self._told.add(message)
            log.warning(message, **details)
