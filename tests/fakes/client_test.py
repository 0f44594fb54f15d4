"""What the tests of the Python client share: a client, a fake daemon, and waiting for events."""

import logging
import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bridge" / "python"))

try:
    import gearshift
    from fake_daemon import DEADLINE_SECONDS, FakeDaemon
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-zmq python3-msgpack")
    sys.exit(77)

SIZES = (8, 16, 32, 64)
LOADER = [[0] * 3] * 4  # any iterable is a loader


class ClientTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.endpoint = f"ipc://{folder.name}/workloads.ipc"
        logging.getLogger("gearshift").setLevel(logging.WARNING)

    def attach(self, **options):
        given = {"batch_size": 16, "batch_sizes": SIZES, "samples_per_epoch": 1437, **options}
        client = gearshift.attach("lenet", endpoint=self.endpoint, **given)
        self.addCleanup(client.close)
        return client

    def daemon(self, **options):
        daemon = FakeDaemon(self.endpoint, **options)
        self.addCleanup(daemon.die)
        return daemon

    def attached(self, daemon=None, **options):
        """A daemon and a client that it has welcomed."""
        daemon = daemon or self.daemon()
        client = self.attach(**options)
        daemon.attach()
        self.until(lambda: client.attached)
        return daemon, client

    def until(self, condition, meanwhile=lambda: time.sleep(0.001)):
        end = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, "the deadline passed")
            meanwhile()

    @staticmethod
    def step(client, **options):
        with client.minibatch(**options):
            pass
