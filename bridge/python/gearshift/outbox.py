"""What a client has to say until it can be said: in order, and bounded."""

from __future__ import annotations

import collections

import msgpack

MOST_MESSAGES = 256


class Outbox:
    """The training thread adds to it, and whoever has the connection's lock flushes it."""

    def __init__(self):
        self._messages = collections.deque()  # of (attachment, must_arrive, frame)
        self._packer = msgpack.Packer(use_bin_type=True)

    def __len__(self):
        return len(self._messages)

    @property
    def newest(self) -> bytes:
        return self._messages[-1][2]

    def add(self, attachment, must_arrive, message) -> bool:
        """False where it is full: the message is dropped."""
        if len(self._messages) >= MOST_MESSAGES:
            return False
        self._messages.append((attachment, must_arrive, self._packer.pack(message)))
        return True

    def flush(self, attachment, send) -> int:
        """Sends what is of this attachment; what is of another is void. Returns how many messages were
        dropped since send(frame) was False; one that must arrive is kept, with what is behind it."""
        messages, dropped = self._messages, 0
        while messages:
            belongs_to, must_arrive, frame = messages[0]
            if belongs_to == attachment and not send(frame):
                if must_arrive:
                    break
                dropped += 1
            messages.popleft()
        return dropped
