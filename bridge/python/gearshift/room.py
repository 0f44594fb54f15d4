"""Whether the process may open what libzmq needs, which ends the process where it gets too little."""

from __future__ import annotations

import contextlib
import os
import threading

PIPES = 8  # of two files each: a socket takes six files, its connection over tcp some more
THREADS = 3  # two of libzmq, and the connection's own


def require():
    """Opens as much for a moment. Raises OSError or RuntimeError, whose text says what there is too little of."""
    with contextlib.ExitStack() as held:
        done = threading.Event()
        for _ in range(THREADS):
            thread = threading.Thread(target=done.wait, name="gearshift", daemon=True)
            thread.start()
            held.callback(thread.join)
            held.callback(done.set)  # before that
        for _ in range(PIPES):
            for end in os.pipe():
                held.callback(os.close, end)
