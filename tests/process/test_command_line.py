"""The command line: what is mistyped is named, what cannot be used ends with 2, every command teaches."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S, SOURCE

BOARD = ["--board", "jetson-agx-orin"]
MODEL = [*BOARD, "--workload", "resnet18"]
BATTERY = [["--solar", "none.csv"], ["--epochs", "20"], ["--brown-out", "9"], ["--reserve", "20"]]
WITHOUT_UNIT = [["--power", "30"], ["--hold", "3"], ["--duration", "3"], ["--sensor-interval", "1"], ["--effects", "x"]]
FOLDER = str(SOURCE)

REQUESTS = ["--batch-size", "16", "--arrivals", "poisson:60", "--infer-time", "16=50ms"]
PAIR = ["simulate", "--problem", "concurrent", *MODEL, "--infer-workload", "mobilenet_v3"]
OPTIMUM = ["board", "--virtual", "jetson-agx-orin", "--optimum", "30W"]
NOWHERE = ["board", "--virtual", "jetson-agx-orin", "--mount", "/dev/null/none"]
MOUNT = [["--mount", "/dev/null/none"], ["--plain"], ["--seed", "2"], ["--noise", "1%"], ["--lag", "boxcar"], ["--battery", "1Wh"],
         ["--fault", "nonsense"]]  # fmt: skip
OF_OPTIMUM = [["--workload", "resnet18"], ["--kind", "train"], ["--batch-sizes", "8"], ["--objective", "time"], ["--json"]]
EMULATE = ["emulate", "--workload", "resnet18", "--sysroot", "/none"]
SERVED = [["--arrivals", "poisson:60"], ["--latency", "1s"], ["--serve-batch-size", "4"], ["--serve-batch-sizes", "1,4"]]
OBJECTIVES = ("time", "energy", "latency", "weighted", "target", "throughput")


def unplanned(command):
    return [command, "--battery", "10Wh", "--battery-goal", "none"]


def gearshift(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=DEADLINE_S)


def subcommands(*words):
    """The names below "Subcommands:" of a help text."""
    listed = gearshift(*words, "--help").stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z-]+)", listed, re.MULTILINE)


def commands():
    for name in subcommands():
        yield [name]
        for below in subcommands(name):
            yield [name, below]


class CommandLine(unittest.TestCase):
    def test_a_mistyped_word_is_named_with_the_help_that_lists_the_right_ones(self):
        for words, told in (
            (["rnu"], "gearshift: rnu: no such command; see gearshift --help"),
            (["keys", "make"], "gearshift keys: make: no such command; see gearshift keys --help"),
            (["run", "--pwer", "30W"], "gearshift run: --pwer 30W: not known here; see gearshift run --help"),
            (["cap"], "gearshift cap: power is required; see gearshift cap --help"),
            ([], "gearshift: A subcommand is required; see gearshift --help"),
        ):
            done = gearshift(*words)
            self.assertEqual((done.returncode, done.stderr.strip()), (2, told))

    def test_what_cannot_be_used_ends_with_2(self):
        for words, named in (
            (["run", "--board", "orin"], "jetson-agx-orin"),
            (["run", "--board", __file__], "test_command_line.py:1: "),
            (["simulate", "--board", __file__, "--workload", "resnet18"], "test_command_line.py:1: "),
            (["run", "--sysroot", "/no/such/board"], "--sysroot '/no/such/board' is no folder"),
            (["profile", "--sysroot", "/no/such/board", "-o", "none.csv"], "is no folder"),
            (["run", "--gpu", "0", "--board", "host"], "nvidia-gpu"),
            (["run", "--listen", "ipc:///none/a", "--control", "ipc:///none/a", "--sysroot", "/none"],
             "--listen and --control are the same, ipc:///none/a: give each"),
            (["boards", "--board", "orin"], "jetson-agx-orin"),
            (["simulate"], "--profile FILE"),
            (["run", "--config", FOLDER, "--sysroot", "/no/such/board"], FOLDER + ": cannot be read"),
            (["run", "--config", "/proc/self/mem", "--sysroot", "/no/such/board"], "/proc/self/mem: cannot be read: Input/output error"),
            (["evaluate", FOLDER], FOLDER + ": cannot be read"),
            (["simulate", "--board", FOLDER, "--workload", "resnet18"], f"--board '{FOLDER}': cannot be read"),
            (["run", "--reserve", "10%", "--sysroot", "/no/such/board"], "give --battery too"),
            *((["simulate", *MODEL, *words], words[0] + " requires --battery") for words in BATTERY),
            *((["simulate", *MODEL, *words], f"{words[0]}: '{words[1]}'") for words in WITHOUT_UNIT),
            (["simulate", *MODEL, "--seed", "-1"], "--seed: Value -1"),
            (["simulate", *MODEL, "--batch-size", "-5"], "--batch-size: Value -5"),
            (["board", "--virtual", "jetson-agx-orin", "--optimum", "30"], "--optimum: '30': give a power"),
            (["board", "--virtual", "jetson-agx-orin", "--mount", "none", "--noise", "two"], "--noise: 'two': give a share"),
            (["board", "--virtual", "jetson-agx-orin", "--mount", "none", "--noise", "0.02"], "--noise: '0.02': give 0.02% or 2%"),
            (["cap", "2mW", "--control", "ipc://none"], "power: '2mW': give a power of 10mW to 100 kW"),
            (["cap", "20W", "--control", "ipc:///none", "--key", "none"], "--key none: belongs to a tcp:// endpoint"),
            (["board", "--virtual", "jetson-agx-orin", "--mount", "none", "--battery", "2"], "--battery: '2': give an energy"),
            (["emulate", "--workload", "resnet18", "--sysroot", "/none", "--duration", "2"], "--duration: '2': give a time"),
            (["powertrain", "transfer", "none.csv", "-o", "none.model", "--loss", "foo"], "--loss: foo not in {mse,mape}"),
            (["requests", *REQUESTS, "--mode", "gpu_mhz=1"], "--mode goes with --infer-profile"),
            (["simulate", *BOARD], "--workload resnet18"),
            (["simulate", *BOARD, "--workload", "resnet18", "--batch-sizes", "8,16", "--batch-size", "9"], "8, 16"),
            (["simulate", *BOARD, "--workload", "resnet18", "--latency", "100ms"], "--problem infer"),
            (["board", "--virtual", "orin"], "--mount DIR"),
            (["board", "--virtual", "orin", "--optimum", "30W"], "jetson-agx-orin"),
            (["board", "--virtual", "jetson-agx-orin", "--optimum", "30W", "--workload", "vgg"], "vgg"),
            (["model", "profile", "--board", "orin", "--workload", "resnet18", "-o", "none.csv"], "jetson-agx-orin"),
            (["keys", "client", "a/b"], "client 'a/b': give it 1 to 32 letters, digits"),
            (["keys", "client", "drone7", "--server", "abc"], "--server 'abc': is no public key"),
            (["keys", "authorise", "drone7", "abc"], "key 'abc': is no public key"),
            (["goal", "--objective", "speed"], "throughput"),
            (["cap", "20"], "power: '20': give a power"),
            (["pareto", "--cap", "20", "none.csv"], "--cap: '20': give a power"),
            (["profile", "--power", "20", "-o", "none.csv"], "--power: '20': give a power"),
            (["profile", "--duration", "2", "-o", "none.csv"], "--duration: '2': give a time"),
            (["import-tegrastats", "none.log", "--interval", "1"], "--interval: '1': give a time"),
            (["import-tegrastats", "none.log", "--interval", "0s"], "--interval: '0s': give a time above 0"),
            (["requests", *REQUESTS, "--latency", "10"], "--latency: '10': give a time"),
            (["requests", *REQUESTS, "--latency", "0ms"], "--latency: '0ms': give a time above 0"),
            *(([*words, "--latency", "0ms"], "--latency: '0ms': give a time above 0; without the flag there is no limit") for words in
              (["run", "--sysroot", "/no/such/board"], ["simulate", *MODEL], [*PAIR, "--rate", "60"])),
            (["run", "--battery", "auto", "--nut", "127.0.0.1:99999"], "--nut: '127.0.0.1:99999' is no [UPS@]ADDRESS[:PORT]"),
            (["powertrain", "train", "none.csv", "-o", "none.model", "--dropout", "nan"], "--dropout: nan is no number"),
            (["powertrain", "train", "none.csv", "-o", "none.model", "--modes", "0"], "--modes: Value 0 not in range 1 to 1000000;"),
            (["requests", *REQUESTS, "--jitter", "3"], "--jitter: '3': give a share"),
            ([*PAIR, "--arrivals", "poisson:0"], "--arrivals 'poisson:0': no requests come; give a rate above 0"),
            ([*NOWHERE, "--fault", "dead_channel=NOSUCH"], "VDD_GPU_SOC"),
            (["requests", *REQUESTS, "--train-time", "10"], "--train-time: '10': give a time"),
            (["requests", "--batch-size", "16", "--arrivals", "poisson:60", "--infer-time", "16=50"], "--infer-time '16=50': '50': give a time"),
            (["requests", "--batch-size", "16", "--arrivals", "mmpp:30,180,20", "--infer-time", "16=50ms"], "--arrivals 'mmpp:30,180,20': '20': give a time"),
        ):
            done = gearshift(*words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(named, done.stderr)

    def test_an_empty_value_is_not_taken_for_none(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
            config.write('power = ""\n')
            config.flush()
            for words, named in (
                (["run", "--sysroot", "/no/such/board", "--power", ""], "gearshift run: --power: empty"),
                (["run", "--sysroot", "/no/such/board", "--config", config.name], config.name + ":1: power is empty"),
                (["simulate", *MODEL, "--power", ""], "gearshift simulate: --power: empty"),
                (["goal", "--objective", "time", "--energy-weight", ""], "gearshift goal: --energy-weight: empty"),
                (["cap", ""], "gearshift cap: power: empty"),
            ):
                done = gearshift(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), words)
                self.assertTrue(done.stderr.startswith(named) or named in done.stderr, done.stderr)

    def test_an_endpoint_that_is_none_is_refused(self):
        none = "tcp://127.0.0.1:99999"
        for endpoint in ("foo", none, "tcp://127.0.0.1:2299x", "tcp://127.0.0.1:0", "tcp://127.0.0.1", "inproc://x",
                         "tcp://localhost:5555", "tcp://0.0.0.0:5555", "ipc://" + "a" * 200):
            for flag in ("--listen", "--control"):
                with tempfile.TemporaryDirectory() as state:
                    done = gearshift("run", flag, endpoint, "--sysroot", "/no/such/board", "--state", state)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"endpoint '{endpoint}'" if "://" not in endpoint or "inproc" in endpoint else f"endpoint {endpoint}: ",
                              done.stderr)
                self.assertEqual("another machine" in done.stderr, "0.0.0.0" in endpoint, done.stderr)
        for words in (["profile", "-o", "none.csv", "--listen", none], ["status", "--control", none], ["stop", "--control", "abc"],
                      ["cap", "20W", "--control", "abc"], ["explain", "--control", "inproc://x"],
                      [*EMULATE, "--connect", none]):
            done = gearshift(*words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn("endpoint", done.stderr)

    def test_keys_that_no_endpoint_needs_are_not_said_to_be_needed(self):
        with tempfile.TemporaryDirectory() as folder:
            done = gearshift("run", "--keys", folder, "--listen", f"ipc://{folder}/w", "--sysroot", "/no/such/board")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"gearshift keys server --keys {folder}", done.stderr)
        self.assertIn("leave --keys out", done.stderr)
        self.assertNotIn("another machine", done.stderr)

    def test_a_flag_that_would_be_dropped_is_refused(self):
        grid = ["evaluate", "--profile", "none.csv", "--policy", "maxn"]
        drift = [*grid, "--problem", "drift", "--caps"]
        pair = ["simulate", "--problem", "concurrent", "--rate", "60", *MODEL]
        for words, named in (
            (["simulate", "--profile", "none.csv", "--trace", "none.db"], "--trace stands instead of the table of --profile"),
            (["simulate", *MODEL, "--infer-workload", "mobilenet_v3"], "--infer-workload belongs to --problem concurrent"),
            (["simulate", *MODEL, "--infer-profile", "none.csv"], "--infer-profile belongs to --problem concurrent"),
            (["simulate", *MODEL, "--model", "resnet18"], "--model belongs to --missing model"),
            (["simulate", *MODEL, "--priced-power", "60W"], "--priced-power belongs to --objective target"),
            ([*pair, "--infer-workload", "mobilenet_v3", "--infer-profile", "none.csv"], "--infer-profile goes with --profile or"),
            (["requests", "--batch-size", "16", "--arrivals", "poisson:60", "--infer-profile", "none.csv", "--profile", "none.csv",
              "--train-time", "40ms"], "--train-time stands instead of the table of --profile"),
            ([*PAIR, "--rate", "60", "--arrivals", "poisson:30"], "--arrivals tells the rate too; leave --rate out"),
            (["requests", *REQUESTS, "--train-batch-size", "8"], "--train-batch-size requires --profile"),
            *(([*OPTIMUM, *words], words[0] + " excludes --optimum") for words in MOUNT),
            *(([*NOWHERE, *words], words[0] + " requires --optimum")
              for words in OF_OPTIMUM),
            *(([*NOWHERE, *words], words[0] + " requires --battery")
              for words in (["--charge", "50%"], ["--resistance", "0.2"])),
            *(([*EMULATE, *words], words[0] + " requires --serve") for words in SERVED),
            ([*EMULATE, "--serve", "mobilenet_v3", "--save-time", "1s"], "--save-time excludes --serve"),
            ([*grid, "--objective", "throughput"], "--objective throughput: latency is of --problem infer, target of recurring, throughput of"),
            ([*grid, *BOARD], "--board belongs to --missing model"),
            ([*grid, "--model", "resnet18"], "--model belongs to --missing model"),
            ([*drift, "40,30,20"], "--caps: --problem drift takes the cap, and the one it falls to"),
            ([*drift, "foo"], "--caps 'foo'"),
            ([*drift, "40,20", *(["--profile", "none.csv"] * 2)], "--profile: --problem drift takes"),
            (["powertrain", "optimize", "--target", "none.csv", "--caps", "none"], "--caps 'none'"),
            ([*unplanned("simulate"), *MODEL, "--brown-out", "9V"], "--brown-out 9V: --battery-goal none plans nothing"),
            ([*unplanned("run"), "--brown-out", "9V"], "--brown-out 9V: --battery-goal none plans nothing"),
            ([*unplanned("run"), "--checkpoint", "5%"], "--checkpoint 5%: --battery-goal none plans nothing"),
            *((["simulate", *MODEL, "--battery", "10Wh", *words], words[0] + " requires --solar")
              for words in (["--confidence", "banana"], ["--panel", "xx"], ["--sun", "900%"])),
            (["simulate", *MODEL, "--battery", "10Wh", "--solar", "none.csv", "--confidence", "50%"],
             "--confidence 50%: only --battery-goal serve plans over the sun"),
            (["simulate", *MODEL, "--battery", "10Wh", "--battery-goal", "progress", "--until", "2h"],
             "--until 2h: says nothing with --battery-goal progress and no --epochs"),
            (["run", "--battery", "auto", "--battery-goal", "serve", "--until", "2h", "--epochs", "20"],
             "--epochs 20: --battery-goal serve counts no epochs"),
            (["run", "--battery", "auto", "--reserve", "97%"], "--reserve 97%: workloads that waited there would go on above 102 %"),
            *(([*unplanned("run"), *words], "--epochs, --until and --reserve: --battery-goal none plans nothing")
              for words in (["--epochs", "2"], ["--until", "2h"], ["--reserve", "50%"])),
            (["simulate", *MODEL, "--missing", "nearest"], "--missing nearest goes with --profile or --trace"),
            (["simulate", *MODEL, "--missing", "model", "--model", "none"], "--missing model goes with --profile or --trace"),
            (["simulate", *MODEL, "--overwrite"], "--overwrite requires --record"),
            (["run", "--sysroot", "/no/such/board", "--overwrite"], "--overwrite belongs to --record"),
            (["model", "fit", "none.csv", "--start", "none"], "--start belongs to --choose roofline"),
            (["model", "fit", "none.csv", "--repeats", "20"], "--repeats belongs to --choose roofline"),
            (["model", "fit", "none.csv", "--choose", "roofline", "--workers", "7"], "--workers belongs to --choose spread"),
            *((["keys", "client", "d", "--server", "none", *words], words[0] + " excludes --server")
              for words in (["--right", "change-caps"], ["--keys", "none"], ["--state", "none"])),
            *((["explain", "none.db", *words], "recording excludes " + words[0]) for words in (["--control", "ipc://none"], ["--key", "none"])),
            (["powertrain", "train", "none.csv", "-o", "none.model", "--state", "none"], "--output excludes --state"),
            (["powertrain", "transfer", "none.csv", "-o", "none.model", "--reference", "none.model", "--state", "none"],
             "--reference excludes --state"),
            ([*EMULATE, "--serve", "mobilenet_v3", *SERVED[0], *SERVED[1], "--warm-up", "10s"], "--warm-up excludes --serve"),
            (["requests", *REQUESTS, *(["--infer-time", "4=10ms"] * 2)], "--infer-time: a batch of 4 is given twice"),
        ):
            done = gearshift(*words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(named, done.stderr)

    def test_a_table_without_knobs_is_said_to_have_none(self):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "few.csv")
            table.write_text("device,workload,kind,batch_size,minibatch_ms,power_w\nboard,few,infer,16,50,20\n")
            requests = ["requests", "--batch-size", "16", "--arrivals", "poisson:60", "--infer-profile", table]
            simulate = ["simulate", "--problem", "infer", "--profile", table]
            for words in ([*requests, "--mode", "x"], [*simulate, "--keep", "gpu_mhz"], [*simulate, "--keep", "gpu_mhz=300"],
                          [*simulate, "--fault", "board_throttles:gpu_mhz"]):  # fmt: skip
                done = gearshift(*words)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
                self.assertIn("there are no knobs", done.stderr)

    def test_a_table_of_another_board_is_no_answer_for_the_one_that_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "agx.csv")
            row = "orin_agx,net,train,16,300,50,20"
            table.write_text("device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\n" + row + "\n")
            simulate = ["simulate", "--profile", table, "--policy", "maxn"]
            for board in ("jetson-nano", "host"):
                done = gearshift(*simulate, "--board", board)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(f"nothing fits for train on {board}", done.stderr)
                self.assertIn("it has net (train) on orin_agx", done.stderr)
            for board in ([], [*BOARD], ["--board", "jetson-agx-orin-jetpack5"], ["--board", self.own_board(folder)]):
                self.assertEqual(gearshift(*simulate, *board).returncode, 0, board)

    def own_board(self, folder):
        """A board file of the user's own, whose name no table has."""
        text = (SOURCE / "boards/jetson-nano.toml").read_text()
        own = Path(folder, "own.toml")
        own.write_text(text.replace('id = "jetson-nano"', 'id = "drone"').replace('aliases = ["nano"]', "aliases = []"))
        return own

    def test_a_recording_takes_no_place_but_a_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for command in (["simulate", *MODEL, "--policy", "maxn"], ["run", "--sysroot", FOLDER, "--board", "host"]):
                done = gearshift(*command, "--record", folder, "--overwrite")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"--record {folder}: is no file", done.stderr)
                self.assertTrue(Path(folder).is_dir())

    def test_no_number_of_epochs_is_said_to_mean_no_end(self):
        self.assertIn("end after so many; 0, as by itself: until stopped", " ".join(gearshift("emulate", "--help").stdout.split()))

    def test_a_folder_is_no_script(self):
        done = gearshift("simulate", *MODEL, "--policy", FOLDER)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(FOLDER + ": cannot be read", done.stderr)

    def test_every_command_teaches_with_an_example_and_is_in_the_readme(self):
        listed = re.findall(r"^\| (`gearshift.*?) \|", (SOURCE / "README.md").read_text(), re.MULTILINE)
        table = " ".join(listed)
        for words in commands():
            help_text = gearshift(*words, "--help")
            self.assertEqual(help_text.returncode, 0, words)
            self.assertIn("Example", help_text.stdout, words)
            self.assertNotIn("->", help_text.stdout, words)
            self.assertNotIn("ENUM:", help_text.stdout, words)
            self.assertRegex(table, rf"`(gearshift )?{words[0]}[ `]", words)

    def test_every_objective_is_told_where_one_is_chosen(self):
        protocol = (SOURCE / "bridge/PROTOCOL.md").read_text()
        goal = next(line for line in protocol.splitlines() if line.startswith("| `goal` |"))
        for name in OBJECTIVES:
            for command in ("run", "simulate", "goal"):
                self.assertIn(name, gearshift(command, "--help").stdout)
            self.assertIn(f'"{name}"', goal)


if __name__ == "__main__":
    unittest.main()
