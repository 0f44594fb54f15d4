"""A client that speaks the protocol by hand, for the tests of what a daemon does with lies."""

import os
import time

import msgpack
import zmq

from harness import DEADLINE_S


class Liar:
    """A client that speaks the protocol by hand, and says what it likes."""

    def __init__(self, endpoint, name="liar", kind="train"):
        self.context = zmq.Context(1)
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(endpoint)
        self.say(
            {"type": "hello", "version": 1, "name": name, "kind": kind, "pid": os.getpid(),
             "batch_size": 16, "batch_sizes": [8, 16, 32], "samples_per_epoch": 0}
        )
        self.sequence = 0
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.context.term()

    def say(self, message):
        frame = message if isinstance(message, bytes) else msgpack.packb(message)
        self.socket.send(frame)

    def report(self, **changed):
        self.sequence += 1
        report = {"type": "minibatch", "sequence": self.sequence, "set": 0, "epoch": 0,
                  "batch_size": 16, "elapsed_ns": 50_000_000, "fetch_stall_ns": 0,
                  "compute_ns": 40_000_000}
        self.say({**report, **changed})

    def wait_for(self, kind, code=None):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            if self.socket.poll(100):
                message = msgpack.unpackb(self.socket.recv())
                self.heard.append(message)
                if message["type"] == kind and code in (None, message.get("code")):
                    return message
        raise AssertionError(f"no {kind} {code}; heard {self.heard[-5:]}")

    def listen(self, code):
        """Takes what has come; true where an error of that code is in it."""
        while self.socket.poll(0):
            message = msgpack.unpackb(self.socket.recv())
            self.heard.append(message)
            if message.get("code") == code:
                return True
        return False
