"""Keys between real processes: who comes in over tcp, what they may do there, and who is put out."""

import json
import logging
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest

from harness import BINARY, DEADLINE_S, HOLD, SOURCE, Daemon, Program, Stack, skip_all

try:
    import zmq
except ImportError:
    skip_all("pyzmq is missing")
if not zmq.has("curve"):
    skip_all("this libzmq was built without CURVE")
sys.path.insert(0, str(SOURCE / "bridge/python"))
import gearshift  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class Told(logging.Handler):
    """Keeps what a Python client tells its user."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


class KeyedStack(Stack):
    """A stack whose daemon listens on every address of the machine, for who has a key."""

    def __init__(self, **options):
        super().__init__(**options)
        self.keys_folder = self.folder / "keys"
        self.port, self.control_port = free_port(), free_port()
        self.outputs = []

    @property
    def tcp(self):
        return f"tcp://127.0.0.1:{self.port}"

    @property
    def control_tcp(self):
        return f"tcp://127.0.0.1:{self.control_port}"

    def keys(self, *words):
        done = self.gearshift("keys", *words, "--keys", self.keys_folder)
        self.outputs.append(done.stdout + done.stderr)
        return done

    def key_file(self, name):
        return self.keys_folder / f"{name}.key"

    def make(self, name, *rights):
        words = [word for right in rights for word in ("--right", right)]
        done = self.keys("client", name, *words)
        assert done.returncode == 0, done.stderr
        return self.key_file(name)

    def secrets(self):
        paths = self.keys_folder.glob("*.key")
        lines = [line for path in paths for line in path.read_text().splitlines()]
        return [line.split()[1] for line in lines if line.startswith("secret ")]

    def keyed_daemon(self):
        words = [BINARY, "run", "--json", "--policy", self.script(HOLD), "--sysroot", self.mount]
        words += ["--state", self.state, "--power", "30W", "--keys", self.keys_folder]
        words += ["--listen", f"tcp://0.0.0.0:{self.port}"]
        words += ["--control", f"tcp://0.0.0.0:{self.control_port}"]
        return self.start(Daemon, words, "run")

    def remote(self, name, **options):
        """A Python client of this process, by tcp; closed with the stack."""
        client = gearshift.attach(name, endpoint=self.tcp, **options)
        self.clients = [*getattr(self, "clients", []), client]
        return client

    def __exit__(self, *arguments):
        for client in getattr(self, "clients", []):
            client.close()
        super().__exit__(*arguments)


class Keys(unittest.TestCase):
    def test_nobody_listens_to_other_machines_without_keys(self):
        with Stack() as stack:
            words = ["run", "--policy", stack.script(HOLD), "--sysroot", stack.mount]
            words += ["--state", stack.state]
            for flag, other in (("--listen", "--control"), ("--control", "--listen")):
                endpoint = f"tcp://0.0.0.0:{free_port()}"
                done = stack.gearshift(*words, flag, endpoint, other, stack.control)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(endpoint, done.stderr)
                self.assertIn("gearshift keys server", done.stderr)
                self.assertIn(str(stack.state / "keys"), done.stderr)
                self.assertIn(f"gearshift keys client NAME --state {stack.state}", done.stderr)
            # The command of the message makes them where the daemon looks for them.
            make = re.search(r"gearshift (keys server .*?),", done.stderr).group(1)
            made = stack.gearshift(*shlex.split(make))
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertTrue((stack.state / "keys/server.key").is_file(), made.stdout)
            self.assertIn(f"gearshift keys client NAME --state {stack.state} ", made.stdout, "what is next goes there too")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make keys in the folder of another user")
    def test_keys_that_root_made_for_another_users_daemon_are_found_and_given_to_it(self):
        owner = 12345
        with Stack(board=False) as stack:
            stack.folder.chmod(0o755)
            stack.state.mkdir()
            os.chown(stack.state, owner, -1)
            made = stack.gearshift("keys", "server", "--state", stack.state)
            give = re.search(rf"chown -R {owner} \S+", made.stdout)
            self.assertTrue(give, made.stdout)

            def listed():
                words = [BINARY, "keys", "list", "--state", str(stack.state)]
                return subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, user=owner)

            denied = listed()
            self.assertEqual(denied.returncode, 1, denied.stdout)
            self.assertIn("Permission denied", denied.stderr)
            self.assertIn(give.group(), denied.stderr)
            subprocess.run(shlex.split(give.group()), check=True)
            self.assertIn("no client is authorised", listed().stdout)

    def test_key_files_are_for_their_owner_and_secrets_are_never_printed(self):
        with KeyedStack(board=False) as stack:
            stack.keys_folder = stack.folder / "missing" / "keys"
            old = os.umask(0)
            try:
                self.assertEqual(stack.keys("server").returncode, 0)
                stack.make("drone7")
                stack.make("ground", "change-caps", "report")
            finally:
                os.umask(old)
            self.assertEqual(mode_of(stack.keys_folder.parent), 0o755)
            self.assertEqual(mode_of(stack.keys_folder), 0o700)
            names = sorted(path.name for path in stack.keys_folder.iterdir())
            self.assertEqual(names, ["clients", "drone7.key", "ground.key", "server.key"])
            for name in names:
                self.assertEqual(mode_of(stack.keys_folder / name), 0o600, name)
            self.assertEqual(stack.keys("server").returncode, 1, "a pair is not overwritten")
            self.assertEqual(stack.keys("client", "drone7").returncode, 1)
            self.assertEqual(stack.keys("client", "../x").returncode, 2)
            self.assertEqual(stack.keys("authorise", "drone9").returncode, 1, "which key?")
            self.assertEqual(stack.keys("revoke", "drone9").returncode, 1)
            self.assertEqual(stack.keys("authorise", "drone7", "--right", "root").returncode, 2)
            stack.keys("authorise", "drone7", "--right", "request-batch-size")
            stack.keys("revoke", "ground", "--right", "report")
            listed = json.loads(stack.keys("list", "--json").stdout)
            rights = {client["name"]: client["rights"] for client in listed["clients"]}
            self.assertEqual(
                rights, {"drone7": ["report", "request-batch-size"], "ground": ["change-caps"]}
            )
            self.assertIn("drone7", stack.keys("list").stdout)
            secrets = stack.secrets()
            self.assertEqual(len(secrets), 3)
            for secret in secrets:
                self.assertNotIn(secret, "".join(stack.outputs))
            stack.keys("revoke", "drone7")
            self.assertFalse(stack.key_file("drone7").exists())
            os.chmod(stack.keys_folder / "server.key", 0o644)
            refused = stack.keys("list")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("chmod 0600", refused.stderr)

    def test_a_key_that_comes_into_no_table_is_not_left(self):
        """As on a full disk, where the table of many clients finds no place any more, but the key's file does."""
        with KeyedStack(board=False) as stack:
            stack.keys("server")
            for number in range(8):
                stack.make(f"drone{number}", "report", "request-batch-size")
            size = (stack.keys_folder / "clients").stat().st_size
            self.assertGreater(size, 40 + stack.key_file("drone0").stat().st_size)

            words = [BINARY, "keys", "client", "ground", "--keys", stack.keys_folder]
            limit = ["prlimit", f"--fsize={size}"]  # SIGXFSZ, which Python ignores, stays ignored
            refused = subprocess.run([*limit, *words], capture_output=True, text=True, restore_signals=False)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("clients: cannot be written: File too large", refused.stderr)
            self.assertEqual(sorted(path.name for path in stack.keys_folder.iterdir()),
                             sorted(["clients", "server.key", *(f"drone{number}.key" for number in range(8))]))
            stack.make("ground")

    def test_a_pair_made_on_the_clients_machine_is_authorised_by_its_public_key(self):
        with KeyedStack() as stack:
            stack.keys("server")
            server = json.loads(stack.keys("list", "--json").stdout)["server"]
            path = stack.folder / "own.key"
            made = stack.gearshift("keys", "client", "far", "--server", server, "--output", path)
            stack.outputs.append(made.stdout + made.stderr)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(mode_of(path), 0o600)
            command = made.stdout[made.stdout.index("gearshift keys authorise") :]
            authorised = stack.keys(*shlex.split(command)[2:])
            self.assertEqual(authorised.returncode, 0, authorised.stderr)
            daemon = stack.keyed_daemon()
            daemon.note("status")
            stack.remote("lenet", key=path)
            self.assertEqual(daemon.note("attached")["managed"], False)

    def test_a_daemon_lets_in_who_has_a_key_and_lets_them_do_what_they_may(self):
        with KeyedStack() as stack:
            stack.keys("server")
            trainer_key = stack.make("trainer", "report", "request-batch-size")
            reporter_key = stack.make("reporter")
            ground_key = stack.make("ground", "change-caps")
            stranger_key = stack.make("stranger", "report", "request-batch-size", "change-caps")
            kept = stranger_key.with_suffix(".kept")
            os.rename(stranger_key, kept)
            stack.keys("revoke", "stranger")
            daemon = stack.keyed_daemon()
            daemon.note("status")
            told = Told()
            logging.getLogger("gearshift").addHandler(told)

            # The C++ client, by its environment; managed.
            words = [BINARY, "emulate", "--workload", "resnet18", "--sysroot", stack.mount]
            words += ["--connect", stack.tcp, "--warm-up", "0.5s"]
            environment = {**os.environ, "GEARSHIFT_KEY": str(trainer_key)}
            stack.start(Program, words, "emulate", env=environment)
            daemon.note("attached", text="resnet18", managed=True)
            daemon.note("hold")

            # Python clients: one that may only report, one whose key was revoked, one without.
            stack.remote("reporter", key=reporter_key)
            daemon.note("attached", text="reporter", managed=False)
            stranger = stack.remote("stranger", key=kept)
            daemon.wait_for(lambda line: "refused a client from 127.0.0.1" in line)
            unkeyed = stack.remote("unkeyed")
            end = time.monotonic() + DEADLINE_S
            while not all(any(said in text for text in told.texts) for said in ("refuses the key", "wants a key")):
                self.assertLess(time.monotonic(), end, told.texts)
                time.sleep(0.05)
            self.assertFalse(stranger.attached or unkeyed.attached)

            # Control needs its own right, for whatever is asked.
            def control(*words, key=None):
                more = ["--key", key] if key else []
                return stack.gearshift(*words, "--control", stack.control_tcp, *more)

            for words in (("cap", "20W"), ("status",), ("stop",), ("goal", "--objective", "energy")):
                refused = control(*words, key=trainer_key)
                self.assertEqual(refused.returncode, 1, refused.stdout)
                self.assertIn("lacks the right change-caps", refused.stderr)
                self.assertIn("authorise trainer --right change-caps", refused.stderr)
            refused = control("cap", "20W", key=kept)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("refused the key of client stranger", refused.stderr)
            refused = control("cap", "20W")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("wants a key", refused.stderr)
            self.assertEqual(control("cap", "28W", key=ground_key).returncode, 0)
            self.assertEqual(daemon.note("goal")["cap_w"], 28)
            self.assertEqual(control("status", key=ground_key).returncode, 0)

            # Who is revoked is out at once, and comes in no more.
            stack.keys("revoke", "trainer")
            self.assertEqual(daemon.note("detached")["text"], "its key was revoked")
            daemon.wait_for(lambda line: "refused a client" in line)
            stack.keys("authorise", "reporter", "--right", "request-batch-size")
            daemon.note("attached", text="reporter", managed=True)
            for secret in stack.secrets():
                self.assertNotIn(secret, "".join(daemon.lines + told.texts))
            self.assertEqual(control("stop", key=ground_key).returncode, 0)
            self.assertEqual(daemon.finish(), 0)

    def test_a_key_file_that_others_may_read_is_not_used(self):
        with KeyedStack(board=False) as stack:
            stack.keys("server")
            path = stack.make("trainer")
            os.chmod(path, 0o640)
            told = Told()
            logging.getLogger("gearshift").addHandler(told)
            stack.remote("lenet", key=path)
            end = time.monotonic() + DEADLINE_S
            while not any("chmod 600" in text for text in told.texts):
                self.assertLess(time.monotonic(), end, told.texts)
                time.sleep(0.05)

    def test_an_emulated_workload_says_why_the_daemon_does_not_take_it(self):
        with KeyedStack() as stack:
            stack.keys("server")
            path = stack.make("trainer", "report", "request-batch-size")
            os.chmod(path, 0o644)
            words = [BINARY, "emulate", "--workload", "resnet18", "--sysroot", stack.mount]
            words += ["--connect", stack.tcp, "--warm-up", "0.1s"]
            environment = {**os.environ, "GEARSHIFT_KEY": str(path)}
            both = ["--serve", "mobilenet_v3", "--arrivals", "poisson:60", "--latency", "500ms"]
            for more in ([], both):
                alone = words if not more else words[:-2]
                emulated = stack.start(Program, [*alone, *more], "emulate", env=environment)
                told = emulated.wait_for(lambda line: "chmod 600" in line)
                self.assertTrue(told.startswith("gearshift emulate: resnet18: key file"), told)
                self.assertEqual(emulated.finish(signal.SIGINT), 0)
                alike = [line for line in emulated.lines if line == told]
                self.assertEqual(len(alike), 1, "told once")


if __name__ == "__main__":
    unittest.main(verbosity=2)
