#!/usr/bin/env python3
"""Where the Python client looks for the daemon, and where it does not."""

import contextlib
import logging
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import LOADER, ClientTest  # skips where a package is missing

import gearshift
from gearshift import endpoint, key


class Endpoint(ClientTest):
    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(self.folder)))
        os.environ.pop("GEARSHIFT_ENDPOINT", None)
        self.user = os.geteuid() or 1000  # whom root gives the folder
        stack.enter_context(mock.patch("os.geteuid", lambda: self.user))
        stack.enter_context(mock.patch.object(endpoint, "SYSTEM_FOLDER", f"{self.folder}/system"))
        self.own = self.folder / "gearshift"

    def make(self, folder, mode=0o700):
        folder.mkdir()
        folder.chmod(mode)
        (folder / "workloads.ipc").touch()

    def listen(self, folder):
        """A daemon's socket there; closed, it leaves its file, as a daemon does that is killed."""
        daemon = socket.socket(socket.AF_UNIX)
        self.addCleanup(daemon.close)
        (folder / "workloads.ipc").unlink(missing_ok=True)
        daemon.bind(f"{folder}/workloads.ipc")
        daemon.listen(0)
        return daemon

    def found(self):
        told = []
        found = endpoint.find(tell_once=told.append)
        for name, folder in (("own", self.own), ("system", self.folder / "system")):
            if found == f"ipc://{folder}/workloads.ipc":
                found = name
        return found, len(told)

    def test_is_the_first_that_is_there(self):
        self.assertEqual(self.found(), ("", 0))  # whoever makes it first is nobody to connect to
        self.make(self.folder / "system")
        self.assertEqual(self.found(), ("system", 0))
        self.make(self.own)
        self.listen(self.own)
        self.assertEqual(self.found(), ("own", 0))
        os.environ["GEARSHIFT_ENDPOINT"] = "tcp://127.0.0.1:7"
        self.assertEqual(endpoint.find(), "tcp://127.0.0.1:7")
        self.assertEqual(endpoint.find("ipc:///x"), "ipc:///x")

    def test_that_a_killed_daemon_left_hides_no_other(self):
        system = self.folder / "system"
        self.make(self.own)
        killed = self.listen(self.own)
        self.make(system)
        roots = self.listen(system)
        self.assertEqual(self.found(), ("own", 0))
        killed.close()
        self.assertEqual(self.found(), ("system", 0))
        hangs = self.listen(self.own)  # takes none, and its queue is full after the first
        asks = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for one in asks:
            self.addCleanup(one.close)
            one.setblocking(False)
            one.connect_ex(f"{self.own}/workloads.ipc")
        self.assertEqual(self.found(), ("own", 0))
        hangs.close()
        roots.close()
        (system / "workloads.ipc").unlink()
        self.assertEqual(self.found(), ("own", 0))  # who starts there is to be found

    def test_that_a_killed_daemon_left_is_left_once_another_listens(self):
        self.make(self.own)
        self.listen(self.own).close()
        logging.getLogger("gearshift").setLevel(logging.INFO)
        with self.assertLogs("gearshift", logging.INFO) as logs:
            client = gearshift.attach("lenet")
            self.addCleanup(client.close)
            self.until(lambda: logs.output)
            (self.folder / "system").mkdir()
            self.endpoint = f"ipc://{self.folder}/system/workloads.ipc"
            self.daemon().attach(client._connection.service_if_free)
            self.until(lambda: client.attached)
        self.assertIn(f"looked for at ipc://{self.own}/workloads.ipc", logs.output[0])
        self.assertIn(f"looked for at {self.endpoint}", logs.output[1])

    def test_that_is_nowhere_is_told_with_where_it_would_be(self):
        logging.getLogger("gearshift").setLevel(logging.INFO)
        with self.assertLogs("gearshift", logging.INFO) as logs:
            client = gearshift.attach("lenet")
            self.addCleanup(client.close)
            self.until(lambda: logs.output)
            for _ in range(20):
                client._connection.service_if_free()
        self.assertEqual(len(logs.output), 1)
        for folder in (self.own, self.folder / "system"):
            self.assertIn(f"{folder}/workloads.ipc", logs.output[0])

    def test_that_another_user_may_have_made_is_left_out(self):
        for mode in (0o777, 0o770):
            self.make(self.own, mode)
            self.assertEqual(self.found(), ("", 1))
            shutil.rmtree(self.own)
        self.make(self.own, 0o777)
        self.make(self.folder / "system")
        self.assertEqual(self.found(), ("system", 1))
        self.own.chmod(0o711)
        self.listen(self.own)
        self.assertEqual(self.found(), ("own", 0))
        self.own.rename(self.folder / "other")
        self.own.symlink_to(self.folder / "other")
        self.assertEqual(self.found(), ("system", 1))  # a link may be moved

    def test_of_another_user_is_left_out(self):
        self.make(self.own)
        if os.stat(self.own).st_uid != 0:
            self.skipTest("only root can give files away")
        self.assertEqual(self.found(), ("own", 0))  # root's
        os.chown(self.own, 1001, 0)
        self.assertEqual(self.found(), ("", 1))
        self.user = 1001
        self.assertEqual(self.found(), ("own", 0))
        os.chown(self.own / "workloads.ipc", 1000, 0)
        self.assertEqual(self.found(), ("", 1))

    def test_of_another_user_is_told_once_and_found_once_it_is_ours(self):
        self.make(self.own, 0o777)
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            client = gearshift.attach("lenet")
            self.addCleanup(client.close)
            self.until(lambda: logs.output)
            for _ in range(20):
                client._connection.service_if_free()
            self.assertEqual(list(client.batches(LOADER)), LOADER)
        self.assertEqual(len(logs.output), 1)
        self.assertIn(str(self.own), logs.output[0])
        shutil.rmtree(self.own)
        self.own.mkdir(0o700)
        self.endpoint = f"ipc://{self.own}/workloads.ipc"
        self.daemon().attach(client._connection.service_if_free)
        self.until(lambda: client.attached)


class KeyFile(unittest.TestCase):
    def test_the_command_that_closes_it_is_one_for_a_shell(self):
        with tempfile.NamedTemporaryFile(prefix="my key ") as file:
            os.chmod(file.name, 0o640)
            with self.assertRaisesRegex(key.KeyFileError, f"chmod 600 '{file.name}', and"):
                key.read(file.name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
