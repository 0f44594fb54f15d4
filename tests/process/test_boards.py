"""`gearshift boards`: what it says of this machine, of a board's files, and of a bad board file."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.path.abspath(os.environ.get("GEARSHIFT_BINARY", "build/gearshift"))
SOURCE = Path(os.environ.get("GEARSHIFT_SOURCE_DIR", Path(__file__).resolve().parents[2]))
NOBODY = 65534


def boards(*arguments, user=None):
    return subprocess.run(
        [BINARY, "boards", *map(str, arguments)], capture_output=True, text=True, timeout=60, user=user,
        extra_groups=[] if user else None,
    )


def put(root, path, text):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def agx_orin(root):
    """Eight cores, one frequency policy, the GPU, two of three rails; debugfs is closed."""
    put(root, "/proc/device-tree/compatible", "nvidia,p3737-0000+p3701-0004\0nvidia,tegra234\0")
    put(root, "/etc/nv_tegra_release", "# R36 (release), REVISION: 4.4\n")
    for name in ("online", "present", "possible"):
        put(root, f"/sys/devices/system/cpu/{name}", "0-7\n")
    for cpu in range(8):
        put(root, f"/sys/devices/system/cpu/cpu{cpu}/online", "1\n")
    policy = "/sys/devices/system/cpu/cpufreq/policy0/"
    put(root, policy + "scaling_available_frequencies", "115200 729600 1190400\n")
    for name, value in {"min": 115200, "max": 729600}.items():
        put(root, f"{policy}scaling_{name}_freq", f"{value}\n")
        put(root, f"{policy}cpuinfo_{name}_freq", f"{value}\n")
    device = "/sys/devices/platform/17000000.gpu"
    put(root, device + "/of_node/name", "gpu\0")
    node = device + "/devfreq/17000000.gpu"
    put(root, node + "/available_frequencies", "306000000 612000000\n")
    for name in ("min_freq", "max_freq", "cur_freq"):
        put(root, f"{node}/{name}", "612000000\n")
    (root / node.lstrip("/") / "device").symlink_to(device)
    link = root / "sys/class/devfreq/17000000.gpu"
    link.parent.mkdir(parents=True)
    link.symlink_to(node)
    for channel, label in enumerate(("VDD_GPU_SOC", "VDD_CPU_CV"), start=1):
        put(root, "/sys/class/hwmon/hwmon7/name", "ina3221\n")
        put(root, f"/sys/class/hwmon/hwmon7/in{channel}_label", label + "\n")
        put(root, f"/sys/class/hwmon/hwmon7/in{channel}_input", "20000\n")
        put(root, f"/sys/class/hwmon/hwmon7/curr{channel}_input", "120\n")


def snapshot(root):
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


class Boards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gearshift-test-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.root.chmod(0o755)

    def test_lists_every_built_in_board_and_marks_this_machine(self):
        agx_orin(self.root)
        listed = boards("--sysroot", self.root)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        lines = listed.stdout.splitlines()
        for name in SOURCE.glob("boards/*.toml"):
            self.assertTrue(any(name.stem in line.split() for line in lines), name.stem)
        marked = [line for line in lines if line.startswith("*") and "this machine" not in line]
        self.assertEqual([line.split()[1] for line in marked], ["jetson-agx-orin"])

    def test_explains_each_knob_from_the_tables_of_the_machine(self):
        agx_orin(self.root)
        before = snapshot(self.root)
        explained = boards("--explain", "--json", "--sysroot", self.root)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        machine = json.loads(explained.stdout)["machine"]
        self.assertEqual(machine["detected"], "jetson-agx-orin")
        knobs = {knob["name"]: knob for knob in machine["knobs"]}
        self.assertEqual(knobs["cpu_cores"]["values"], list(range(1, 9)))
        self.assertEqual(knobs["cpu_mhz"]["values"], [115.2, 729.6, 1190.4])
        self.assertEqual(knobs["gpu_mhz"]["values"], [306, 612])
        self.assertTrue(knobs["mem_mhz"]["absent"])
        self.assertIn("/sys/kernel/debug", knobs["mem_mhz"]["reason"])
        sensors = "\n".join(machine["sensors"])
        self.assertIn("VDD_GPU_SOC", sensors)
        self.assertIn("VIN_SYS_5V0 cannot be read", sensors)
        self.assertEqual(snapshot(self.root), before, "it reads only")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_without_root_it_says_which_knobs_may_not_be_written(self):
        agx_orin(self.root)
        try:
            explained = boards("--explain", "--sysroot", self.root, user=NOBODY)
        except PermissionError:
            self.skipTest(f"user {NOBODY} may not start {BINARY}")
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertEqual(explained.stdout.count("absent: "), 4, explained.stdout)
        self.assertIn("Permission denied (EACCES); run as root", explained.stdout)
        self.assertIn("VDD_GPU_SOC at /sys/class/hwmon/hwmon7", explained.stdout, "readable all the same")

    def test_a_table_of_a_thousand_clocks_is_thinned_and_said_so(self):
        agx_orin(self.root)
        put(self.root, "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies",
            " ".join(str(100000 + 1000 * i) for i in range(901)))
        put(self.root, "/sys/devices/platform/17000000.gpu/devfreq/17000000.gpu/available_frequencies",
            " ".join(str(100000000 + 1000000 * i) for i in range(101)))  # fmt: skip
        explained = boards("--explain", "--json", "--sysroot", self.root)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        knobs = {knob["name"]: knob for knob in json.loads(explained.stdout)["machine"]["knobs"]}
        modes = 1
        for name in ("cpu_cores", "cpu_mhz", "gpu_mhz"):
            modes *= len(knobs[name]["values"])
        self.assertLessEqual(modes, 262144)
        self.assertEqual((knobs["cpu_mhz"]["values"][0], knobs["cpu_mhz"]["values"][-1]), (100, 1000))
        self.assertRegex(knobs["cpu_mhz"]["finding"], r"\d+ of its 901 values")
        self.assertNotIn("of its", knobs["gpu_mhz"]["finding"])

    def test_an_unknown_jetson_is_a_host_and_is_told_how_to_add_itself(self):
        put(self.root, "/proc/device-tree/compatible", "nvidia,p4071-0000+p3834-0008\0nvidia,tegra264\0")
        explained = boards("--explain", "--sysroot", self.root)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("nvidia,p4071-0000+p3834-0008", explained.stdout)
        self.assertIn("a Jetson that no board file names", explained.stdout)
        self.assertIn("board: host", explained.stdout)
        self.assertIn("--board FILE.toml", explained.stdout)

    def test_explains_a_board_file_of_the_user(self):
        text = (SOURCE / "boards/host.toml").read_text()
        file = self.root / "mine.toml"
        file.write_text(text.replace('id = "host"', 'id = "mine"'))
        explained = boards("--board", file)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn(f"asked for: mine, Linux machine ({file})", explained.stdout)

    def test_a_bad_board_file_ends_with_file_line_key_and_value(self):
        text = (SOURCE / "boards/host.toml").read_text()
        file = self.root / "mine.toml"
        file.write_text(text.replace("values = [1]", "values = [2, 1]"))
        line = 1 + text[: text.index("values = [1]")].count("\n")
        refused = boards("--board", file)
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(
            refused.stderr,
            f"gearshift boards: {file}:{line}: knob[0].values[1] = 1: "
            "must be more than the value before it (2)\n",
        )

    def test_an_unknown_board_lists_the_known_ones(self):
        refused = boards("--board", "jetson-tx9")
        self.assertEqual(refused.returncode, 2)
        for word in ("jetson-tx9", "auto", "host", "jetson-agx-orin"):
            self.assertIn(word, refused.stderr)

    def test_a_sysroot_that_is_no_folder_is_refused(self):
        refused = boards("--sysroot", self.root / "none")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(str(self.root / "none"), refused.stderr)


if __name__ == "__main__":
    unittest.main()
