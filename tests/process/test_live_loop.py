"""The live loop between real processes: trainers that come, go and die, caps that change."""

import json
import os
import signal
import subprocess
import time
import unittest

from harness import BINARY, DEADLINE_S, HOLD, Stack

# Measures two settings and holds the better one that fits: a search that takes seconds.
SHORT = """
local best
for _, gpu in ipairs({knobs.gpu_mhz[3], knobs.gpu_mhz[1]}) do
  local seen = measure({cpu_cores = 8, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = gpu,
                        mem_mhz = knobs.mem_mhz[3]})
  if seen.within and (best == nil or seen.value < best.value) then best = seen end
end
return best and best.setting
"""


class LiveLoop(unittest.TestCase):
    def test_a_trainer_that_came_first_attaches_when_the_daemon_comes(self):
        with Stack() as stack:
            stack.trainer()
            daemon = stack.daemon(stack.script(SHORT))
            daemon.note("attached", text="resnet18")
            hold = daemon.note("hold")
            self.assertEqual(hold["setting"]["cpu_cores"], 8)

    def test_a_trainer_that_comes_later_attaches_and_the_baseload_is_read(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(SHORT))
            daemon.note("status")
            daemon.note("status")
            stack.trainer()
            baseload = daemon.note("baseload")
            self.assertGreater(baseload["power_w"], 5)
            daemon.note("hold")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            summary = daemon.summary()
            self.assertEqual(summary["baseload_w"], baseload["power_w"])
            self.assertEqual(len(summary["choices"]), 1)

    def test_a_killed_trainer_is_detached_and_a_new_one_meets_what_is_known(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(SHORT))
            trainer = stack.trainer()
            daemon.note("hold")
            measured = len(daemon.notes("observation"))
            trainer.kill()
            daemon.note("detached")
            stack.trainer()
            daemon.note("attached")
            daemon.note("hold")
            self.assertEqual(len(daemon.notes("observation")), measured)

    def test_a_killed_daemon_leaves_the_trainer_running_and_the_next_takes_over(self):
        with Stack() as stack:
            before = stack.knobs()
            script = stack.script(SHORT)
            daemon = stack.daemon(script)
            trainer = stack.trainer()
            daemon.note("hold")
            self.assertNotEqual(stack.knobs(), before)
            daemon.kill()
            daemon = stack.daemon(script)
            daemon.note("attached")
            daemon.note("hold")
            self.assertIsNone(trainer.process.poll())
            self.assertEqual(daemon.finish(signal.SIGTERM), 0)
            # Back to how the first daemon found it, not to how it left it.
            self.assertEqual(stack.knobs(), before)

    def test_restore_puts_the_board_back_after_sigkill(self):
        with Stack() as stack:
            before = stack.knobs()
            daemon = stack.daemon(stack.script(HOLD))
            stack.trainer()
            daemon.note("hold")
            daemon.kill()
            self.assertNotEqual(stack.knobs(), before)
            done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(stack.knobs(), before)

    def test_on_exit_keep_leaves_the_setting_and_safe_the_lowest_mode(self):
        for on_exit in ("keep", "safe"):
            with self.subTest(on_exit), Stack() as stack:
                before = stack.knobs()
                daemon = stack.daemon(stack.script(HOLD), "--on-exit", on_exit)
                stack.trainer()
                daemon.note("hold")
                self.assertEqual(daemon.finish(signal.SIGINT), 0)
                cores = stack.read("/sys/devices/system/cpu/online")
                self.assertEqual(cores, "0-7" if on_exit == "keep" else "0-1")
                done = stack.gearshift("restore", "--sysroot", stack.mount, "--state", stack.state)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(stack.knobs(), before)

    def test_a_second_trainer_is_observed_only(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(SHORT))
            stack.trainer()
            daemon.note("attached", managed=True)
            stack.trainer()
            daemon.note("attached", managed=False)
            daemon.note("hold")

    def test_a_cap_that_falls_in_mid_measurement_ends_it(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(SHORT), power="40W")
            stack.trainer()
            daemon.note("applied")
            done = stack.gearshift("cap", "23W", "--control", stack.control)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(daemon.note("goal", text="operator")["cap_w"], 23)
            self.assertEqual(daemon.note("observation")["reason"], "goal_changed")
            daemon.note("hold")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            choice = daemon.summary()["choices"][-1]
            self.assertLessEqual(choice["observation"]["power_w"], 23)

    def test_a_schedule_changes_the_cap(self):
        with Stack() as stack:
            config = stack.script(
                '[[schedule]]\nafter = "0s"\npower = "35W"\n'
                '[[schedule]]\nafter = "3s"\npower = "25W"\n',
                "run.toml",
            )
            daemon = stack.daemon(stack.script(HOLD), "--config", config, power=None)
            self.assertEqual(daemon.note("goal")["cap_w"], 35)
            self.assertEqual(daemon.note("goal")["cap_w"], 25)

    def test_cap_says_which_cap_binds(self):
        with Stack() as stack:
            config = stack.script('[[schedule]]\nafter = "0s"\npower = "20W"\n', "run.toml")
            daemon = stack.daemon(stack.script(HOLD), "--config", config, power="40W")
            self.assertEqual(daemon.note("goal")["cap_w"], 20)
            for power, answer in (
                ("35W", "operator's cap 35 W; the schedule's 20 W binds\n"),
                ("18.5W", "cap 18.5 W\n"),
                ("none", "the operator's cap is lifted; the schedule's 20 W binds\n"),
            ):
                done = stack.gearshift("cap", power, "--control", stack.control)
                self.assertEqual((done.returncode, done.stdout), (0, answer), done.stderr)
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            daemon.note("goal")
            done = stack.gearshift("cap", "none", "--control", stack.control)
            self.assertEqual(done.stdout, "the operator's cap is lifted; nothing caps power now\n")

    def test_a_timetable_tells_its_clock_and_refuses_a_zone_that_is_not_there(self):
        def run(zone, *more):
            command = [BINARY, "run", "--sysroot", stack.mount, "--listen", stack.endpoint, "--control", stack.control]
            command += ["--state", stack.state, "--config", config, "--duration", "1s", *more]
            return subprocess.run(
                [*map(str, command)], capture_output=True, text=True, timeout=DEADLINE_S,
                env={**os.environ, "TZ": zone},
            )

        with Stack() as stack:
            config = stack.script(
                '[[schedule]]\nat = "05:57"\npower = "15W"\n\n[[schedule]]\nat = "22:00"\npower = "28W"\n', "run.toml"
            )
            line = r"schedule: it is \w{3} \d\d:\d\d EAST; (15|28) W since [\w: ]+, (15|28) W from [\w: ]+\n"
            told = run("EAST-5")
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertRegex(told.stdout, "\n  " + line)
            self.assertRegex(told.stdout, r"(?m)^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d ")
            as_json = run("EAST-5", "--json")
            self.assertRegex(as_json.stderr, "gearshift run: " + line)
            notes = [json.loads(line) for line in as_json.stdout.splitlines()]
            self.assertAlmostEqual(notes[0]["unix_s"], time.time(), delta=DEADLINE_S)
            for note in notes[1:]:
                self.assertEqual("unix_s" in note, note.get("note") == "status", note)
            refused = run("Europe/Berlim")
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn("TZ 'Europe/Berlim': ", refused.stderr)
            self.assertIn("tzdata", refused.stderr)
            config.write_text('power = "30W"\n')
            self.assertEqual(run("Europe/Berlim").returncode, 0, "nothing goes by it")

    def test_status_and_stop_answer_and_unreachable_daemons_are_said_so(self):
        with Stack() as stack:
            daemon = stack.daemon(stack.script(HOLD))
            daemon.note("status")
            status = stack.gearshift("status", "--json", "--control", stack.control)
            self.assertEqual(status.returncode, 0, status.stderr)
            self.assertEqual(json.loads(status.stdout)["phase"], "waiting")
            self.assertEqual(stack.gearshift("stop", "--control", stack.control).returncode, 0)
            self.assertEqual(daemon.finish(), 0)
            self.assertEqual(stack.gearshift("cap", "20W", "--control", stack.control).returncode, 4)

    def test_a_second_daemon_on_the_board_is_refused_by_name(self):
        with Stack() as stack:
            script = stack.script(HOLD)
            daemon = stack.daemon(script)
            daemon.note("status")
            second = stack.gearshift(
                "run", "--policy", script, "--sysroot", stack.mount, "--state", stack.state,
                "--listen", f"ipc://{stack.folder}/other.ipc",
                "--control", f"ipc://{stack.folder}/other-control.ipc",
            )
            self.assertEqual(second.returncode, 3, second.stdout + second.stderr)
            self.assertIn(str(daemon.process.pid), second.stderr)

    def test_usage_errors_name_the_value_and_the_way_out(self):
        with Stack(board=False) as stack:
            script = stack.script(HOLD)
            flags = {
                "--policy": script,
                "--sysroot": stack.folder,
                "--state": stack.state,
                "--listen": stack.endpoint,
                "--control": stack.control,
            }
            for flag, value, code, words in (
                ("--power", "30", 2, "30"),
                ("--objective", "speed", 2, "speed"),
                ("--on-exit", "burn", 2, "burn"),
                ("--board", "jetson-agx-onion", 2, "jetson-agx-orin"),
                ("--listen", "tcp://0.0.0.0:5555", 2, "gearshift keys server"),
                ("--policy", stack.folder / "missing.lua", 5, "missing.lua"),
                ("--policy", stack.script("return +", "broken.lua"), 5, "broken.lua:1"),
            ):
                with self.subTest(f"{flag} {value}"):
                    changed = {**flags, flag: value}
                    words_of_command = [word for pair in changed.items() for word in pair]
                    done = stack.gearshift("run", *words_of_command)
                    self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                    self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
