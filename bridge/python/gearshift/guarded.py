"""Nothing that a program calls raises because of gearshift."""

from __future__ import annotations

import functools


def never_raises(otherwise):
    """Turns whatever goes wrong in a method into one warning and the value `otherwise`."""

    def decorate(method):
        @functools.wraps(method)
        def guarded(self, *arguments, **options):
            try:
                return method(self, *arguments, **options)
            except Exception:
                self._connection.tell_once(
                    f"{method.__name__.strip('_')} failed; training goes on", exc_info=True
                )
                return otherwise

        return guarded

    return decorate
