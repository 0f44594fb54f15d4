"""The daemon as a service of systemd: what it tells, when its watchdog is fed, and the unit's own checks."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from unittest import mock

from harness import BINARY, DEADLINE_S, HOLD, SOURCE, Stack
from programs import Program

UNITS = SOURCE / "packaging/systemd"
# As docs/security.md tells them; a unit that opens up has to say so there.
EXPOSURE = {"gearshift.service": 0.7, "gearshift-helper.service": 1.7}


class ServiceManager:
    """Plays systemd's end of the socket that a service of Type=notify is given."""

    def __init__(self, folder, watchdog_s=None):
        self.path = folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(DEADLINE_S)
        self.environment = {"NOTIFY_SOCKET": str(self.path)}
        if watchdog_s:
            self.environment["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))

    def wait_for(self, words):
        while True:
            said = self.socket.recv(4096).decode()
            if words in said.split("\n"):
                return said

    def drain(self):
        """What was said until now."""
        said = []
        self.socket.setblocking(False)
        try:
            while True:
                said.append(self.socket.recv(4096).decode())
        except BlockingIOError:
            self.socket.settimeout(DEADLINE_S)
            return said


class Notices(unittest.TestCase):
    def start(self, stack, watchdog_s=None):
        manager = ServiceManager(stack.folder, watchdog_s)
        self.addCleanup(manager.socket.close)
        os.environ.update(manager.environment)
        try:
            return manager, stack.daemon(stack.script(HOLD))
        finally:
            for name in manager.environment:
                del os.environ[name]

    def test_it_is_ready_reloads_and_stops(self):
        with Stack() as stack:
            manager, daemon = self.start(stack)
            manager.wait_for("READY=1")
            # Who was told that it is ready may ask it at once.
            done = stack.gearshift("status", "--control", stack.control)
            self.assertEqual(done.returncode, 0, done.stderr)
            manager.wait_for("STATUS=waiting")
            stack.trainer()
            manager.wait_for("STATUS=holding")
            daemon.send(signal.SIGHUP)
            reloading = manager.wait_for("RELOADING=1")
            self.assertRegex(reloading, r"\nMONOTONIC_USEC=\d+")
            manager.wait_for("READY=1")
            self.assertNotIn("WATCHDOG=1", "".join(manager.drain()))
            daemon.send(signal.SIGTERM)
            manager.wait_for("STOPPING=1")
            self.assertEqual(daemon.finish(), 0)

    def test_the_watchdog_is_fed_only_while_the_loop_goes_on(self):
        with Stack() as stack:
            manager, daemon = self.start(stack, watchdog_s=2)
            manager.wait_for("READY=1")
            for _ in range(3):
                manager.wait_for("WATCHDOG=1")
            # Each tick then takes some seconds: it comes, but too late.
            stack.fault("block_read_ms", "400")
            daemon.note("gap")
            manager.drain()
            daemon.note("status")
            self.assertNotIn("WATCHDOG=1", manager.drain())
            stack.fault("block_read_ms", "0")
            manager.wait_for("WATCHDOG=1")

    def test_a_socket_that_nobody_has_hinders_nothing(self):
        with Stack() as stack:
            os.environ["NOTIFY_SOCKET"] = str(stack.folder / "nobody")
            self.addCleanup(os.environ.pop, "NOTIFY_SOCKET")
            daemon = stack.daemon(stack.script(HOLD))
            daemon.note("status")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)


class Helper(unittest.TestCase):
    def test_it_is_ready_once_its_socket_is_there(self):
        with Stack() as stack:
            manager = ServiceManager(stack.folder)
            self.addCleanup(manager.socket.close)
            path = stack.folder / "knobs.sock"
            arguments = [BINARY, "helper", "--socket", path, "--state", stack.state, "--sysroot", stack.mount]
            with mock.patch.dict(os.environ, manager.environment):
                helper = stack.start(Program, arguments, "helper")
            manager.wait_for("READY=1")
            self.assertTrue(path.is_socket())
            self.assertEqual(helper.finish(signal.SIGTERM), 0)

    def test_its_death_does_not_end_the_daemon_that_waits_for_the_next_one(self):
        unit = (UNITS / "gearshift.service").read_text()
        self.assertIn("\nWants=gearshift-helper.service\nAfter=gearshift-helper.service\n", unit)
        self.assertNotRegex(unit, r"(?m)^(Requires|BindsTo|PartOf)=")

    def test_the_right_that_a_gpu_asks_for_is_in_a_drop_in(self):
        drop_in = (UNITS / "gearshift-helper-nvidia.conf").read_text()
        self.assertIn("\nCapabilityBoundingSet=CAP_SYS_ADMIN\n", drop_in)
        self.assertIn("gearshift-helper-nvidia.conf", (SOURCE / "docs/security.md").read_text())

    def test_the_right_that_a_users_control_groups_ask_for_is_in_a_drop_in(self):
        drop_in = (UNITS / "gearshift-helper-groups.conf").read_text()
        self.assertIn("\nCapabilityBoundingSet=CAP_DAC_OVERRIDE\n", drop_in)
        self.assertIn("gearshift-helper-groups.conf", (SOURCE / "docs/security.md").read_text())


    def test_it_writes_sys_and_nothing_of_proc_that_sets_the_kernel(self):
        unit = (UNITS / "gearshift-helper.service").read_text()
        self.assertIn("\nProtectSystem=strict\n", unit)  # which leaves /proc and /sys as they are
        closed = " ".join(re.findall(r"(?m)^ReadOnlyPaths=(.*)$", unit)).split()
        self.assertIn("/proc/sys", closed)
        self.assertIn("-/proc/sysrq-trigger", closed)
        self.assertNotIn("/sys", " ".join(closed).replace("/proc/sys", ""))


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is missing")
class Units(unittest.TestCase):
    def analyze(self, *words):
        return subprocess.run(
            ["systemd-analyze", *map(str, words)], capture_output=True, text=True, timeout=DEADLINE_S
        )

    def test_units_are_well_formed(self):
        with tempfile.TemporaryDirectory() as folder:
            for unit in sorted(UNITS.glob("*.service")):
                copy = pathlib.Path(folder) / unit.name
                built = str(pathlib.Path(BINARY).resolve().parent)
                copy.write_text(unit.read_text().replace("/usr/bin/", f"{built}/"))
            for unit in sorted(UNITS.glob("*.service")):
                with self.subTest(unit.name):
                    done = self.analyze("verify", "--man=no", pathlib.Path(folder) / unit.name)
                    ours = [line for line in done.stderr.split("\n") if unit.stem in line]
                    self.assertEqual((done.returncode, ours), (0, []), done.stderr)

    def test_units_are_as_closed_as_the_security_page_says(self):
        page = (SOURCE / "docs/security.md").read_text()
        for unit in sorted(UNITS.glob("*.service")):
            with self.subTest(unit.name):
                done = self.analyze("security", "--offline=true", "--no-pager", unit)
                found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
                self.assertIsNotNone(found, done.stdout + done.stderr)
                self.assertLessEqual(float(found.group(1)), EXPOSURE[unit.name])
                self.assertIn(f"{unit.name}: {EXPOSURE[unit.name]}", page)

    def test_the_config_of_the_package_can_be_used(self):
        with Stack() as stack:
            daemon = stack.daemon(
                stack.script(HOLD), "--config", UNITS / "run.toml", power=None
            )
            self.assertEqual(daemon.note("status")["cap_w"], 30)


if __name__ == "__main__":
    unittest.main()
