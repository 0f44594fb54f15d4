"""A daemon on an IPv6 address, and all that connects to one."""

import socket
import sys
import unittest

from harness import BINARY, HOLD, SOURCE, Daemon, Program, Stack, skip_all, wait_until

sys.path.insert(0, str(SOURCE / "bridge/python"))
try:
    import gearshift
except ImportError as missing:
    skip_all(missing)


def free_port():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return probe.getsockname()[1]
    except OSError as error:
        skip_all(f"this machine has no ::1: {error}")


class Ipv6(unittest.TestCase):
    def test_clients_of_both_kinds_and_the_operator_reach_it(self):
        workloads, control = (f"tcp://[::1]:{free_port()}" for _ in range(2))
        with Stack() as stack:
            words = [BINARY, "run", "--json", "--policy", stack.script(HOLD), "--sysroot", stack.mount]
            words += ["--state", stack.state, "--power", "30W", "--listen", workloads, "--control", control]
            daemon = stack.start(Daemon, words, "run")
            with gearshift.attach("python", endpoint=workloads) as client:
                wait_until(lambda: client.attached, "the Python client is not attached")
            words = [BINARY, "emulate", "--workload", "resnet18", "--sysroot", stack.mount, "--connect", workloads]
            stack.start(Program, words, "emulate")
            daemon.note("attached", text="resnet18")  # a C++ client
            stopped = stack.gearshift("stop", "--control", control)
            self.assertEqual(stopped.returncode, 0, stopped.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
