"""A daemon that does as it is told: the ROUTER side of bridge/PROTOCOL.md, for tests and benchmarks.

It records every message it got. Waiting is for events, with one generous deadline.
"""

import time

import msgpack
import zmq

DEADLINE_SECONDS = 60


class FakeDaemon:
    def __init__(self, endpoint, heartbeat_ns=10**9, silent_after_ns=60 * 10**9):
        self.endpoint = endpoint
        self.received = []  # messages, in order
        self.heartbeat_ns = heartbeat_ns
        self.silent_after_ns = silent_after_ns
        self._peer = None  # identity that spoke last
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(endpoint)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.die()

    def die(self):
        """Ends without a word, as SIGKILL ends a daemon."""
        self._socket.close()
        self._context.term()

    def send_frames(self, *frames):
        self._socket.send_multipart([self._peer, *frames])

    def send(self, type, **fields):
        self.send_frames(msgpack.packb({"type": type, **fields}))

    def welcome(self, managed=True, message=""):
        self.send(
            "welcome",
            version=1,
            workload=1,
            managed=managed,
            heartbeat_ns=self.heartbeat_ns,
            silent_after_ns=self.silent_after_ns,
            message=message,
        )

    def set(self, number, batch_size, run="both"):
        self.send("set", set=number, batch_size=batch_size, run=run)

    def take(self, milliseconds):
        """The next message, or None when none comes in that time."""
        if not self._socket.poll(milliseconds):
            return None
        self._peer, frame = self._socket.recv_multipart()
        message = msgpack.unpackb(frame)
        self.received.append(message)
        return message

    def drain(self):
        """All that is here already."""
        taken = []
        while message := self.take(0):
            taken.append(message)
        return taken

    def expect(self, type, meanwhile=None, **fields):
        """The next message with this type and these values; what comes before it is only recorded.

        Calls `meanwhile` until it comes: the trainer's loop, where the test has one.
        """
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end:
            message = self.take(0 if meanwhile else 100)
            if message and message["type"] == type:
                if all(message.get(name) == value for name, value in fields.items()):
                    return message
            if meanwhile and not message:
                meanwhile()
        newest = self.received[-5:]
        raise AssertionError(f"no {type} {fields} in {DEADLINE_SECONDS} s; newest: {newest}")

    def attach(self, meanwhile=None):
        """Takes the hello and welcomes; returns the hello."""
        hello = self.expect("hello", meanwhile)
        self.welcome()
        return hello
