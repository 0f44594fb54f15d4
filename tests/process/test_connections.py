"""Connections without number: the daemon keeps descriptors for an operator, and for the board."""

import contextlib
import os
import signal
import socket
import unittest

from harness import BINARY, HOLD, Daemon, Stack, wait_until

DESCRIPTORS = 256
# What a DEALER begins with (ZMTP 3.0, NULL): after it a connection may be silent for ever.
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48)
GREETING += b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"


class Connections(unittest.TestCase):
    def test_a_flood_of_connections_keeps_nobody_from_the_daemon_or_the_knobs(self):
        with Stack() as stack:
            found = stack.knobs()
            words = ["prlimit", f"--nofile={DESCRIPTORS}", BINARY, "run", "--json", "--power", "30W"]
            words += ["--policy", stack.script(HOLD), "--sysroot", stack.mount]
            words += ["--listen", stack.endpoint, "--control", stack.control, "--state", stack.state]
            daemon = stack.start(Daemon, words, "run")
            wait_until((stack.folder / "control.ipc").exists)
            trainer = stack.trainer()
            wait_until(lambda: stack.knobs() != found)

            descriptors = f"/proc/{daemon.process.pid}/fd"
            held = []
            for _ in range(20):
                for _ in range(20):
                    held.append(socket.socket(socket.AF_UNIX))
                    held[-1].connect(str(stack.folder / "workloads.ipc"))
                    with contextlib.suppress(OSError):  # it was shut at once
                        held[-1].sendall(GREETING)
                wait_until(lambda: len(os.listdir(descriptors)) < DESCRIPTORS // 2)

            status = stack.gearshift("status", "--control", stack.control)
            self.assertEqual(status.returncode, 0, status.stderr)
            self.assertIsNone(trainer.process.poll())
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(60), 0)
            self.assertEqual(stack.knobs(), found)
            for one in held:
                one.close()


if __name__ == "__main__":
    unittest.main()
