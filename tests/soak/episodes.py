"""What goes wrong in a soak: one function an episode, which breaks something and demands its report.

An episode gets the site while a setting is held, and leaves a site that `mend` and `settle` bring back
to holding. `steady` ones leave the daemon alive, so that its memory can be watched over all of them;
`ending` ones kill it, and the board must then be as it was found.
"""

import os
import signal
import time

from harness import SOURCE
from liar import Liar
from soak_site import DEADLINE_S, GPU, RESTLESS, SEARCH, MissedRestore, Unreported, text_has

GPU_CLOCKS_HZ = ("306000000", "408000000", "510000000", "612000000", "714000000", "816000000")
MONITOR = "/sys/bus/i2c/drivers/ina3221/1-0040"
STEADY = []
ENDING = []


def steady(function):
    STEADY.append(function)
    return function


def ending(function):
    ENDING.append(function)
    return function


# ---- the board ----------------------------------------------------------------------------


@steady
def sensor_fails(site):
    fault, value = site.random.choice(
        [("eio", MONITOR), ("sensor_garbage", "1"), ("sensor_absurd", "2000000"),
         ("dead_channel", "VDD_GPU_SOC")]
    )
    site.stack.fault(fault, value)
    site.told("power_unknown")
    site.told("status", phase="safe")


@steady
def sensor_blocks(site):
    site.stack.fault("block_read_ms", site.random.choice(["300", "500"]))
    site.said("the loop stands still")
    site.stack.fault("block_read_ms", "0")


@steady
def knob_refuses(site):
    site.stack.fault(site.random.choice(["eacces", "eio", "ebusy"]), f"{GPU}/max_freq")
    move_gpu(site)
    site.told("knob_failed", text_has("gpu_mhz"))


@steady
def knob_ignores(site):
    # That a clock does not follow its limits shows only under load; that these do not change, always.
    loaded = site.trainer.name == "emulate"
    site.stack.fault("ignore_gpu_clock", site.random.choice(["1", "2"]) if loaded else "2")
    move_gpu(site)
    site.told("knob_failed", text_has("gpu_mhz"))


def move_gpu(site):
    """A script that wants a clock of the GPU which is not in force."""
    wanted = site.random.choice([5, 6])
    moves = SEARCH.replace("{3, 1}", f"{{{wanted}}}").replace("measure(", "remeasure(")
    site.policy.write_text(moves)
    site.told("policy_reload", text="reloaded")


@steady
def another_program_writes(site):
    # What was told within the last seconds is not told again: another value each time.
    held_hz = site.stack.read(f"{GPU}/max_freq")
    others_hz = [one for one in GPU_CLOCKS_HZ if one not in (held_hz, site.written_hz)]
    site.written_hz = site.random.choice(others_hz)
    site.stack.write(f"{GPU}/min_freq", "306000000")
    site.stack.write(f"{GPU}/max_freq", site.written_hz)
    site.told("outside_writer", text_has("gpu_mhz"))


# ---- trainers -----------------------------------------------------------------------------


@steady
def trainer_is_killed(site):
    site.trainer.kill()
    site.told("detached")
    site.start_trainer()
    site.told("attached", managed=True)


@steady
def trainer_leaves(site):
    site.trainer.finish(signal.SIGTERM)
    site.told("detached", text_has("bye"))
    site.start_trainer()
    site.told("attached", managed=True)


@steady
def trainer_hangs(site):
    site.trainer.send(signal.SIGSTOP)
    try:
        site.told("detached", text_has("silent"))
    finally:
        site.trainer.send(signal.SIGCONT)
    site.told("attached", managed=True)


@steady
def trainer_lies(site):
    lie = site.random.choice(
        [{"elapsed_ns": -1}, {"elapsed_ns": float("nan")}, {"fetch_stall_ns": -5},
         {"batch_size": 2**40}, {"sequence": 0}]
    )
    with Liar(site.stack.endpoint) as liar:
        liar.wait_for("welcome")
        liar.report(**lie)
        liar.wait_for("error", "invalid")
    site.told("detached")


@steady
def client_sends_garbage(site):
    with Liar(site.stack.endpoint) as liar:
        liar.wait_for("welcome")
        liar.say(site.random.randbytes(site.random.randrange(1, 200)))
        liar.wait_for("error")
    site.told("detached")


@steady
def client_floods(site):
    with Liar(site.stack.endpoint, "flood") as liar:
        liar.wait_for("welcome")
        end = time.monotonic() + DEADLINE_S
        while not liar.listen("too_many"):
            if time.monotonic() > end:
                raise Unreported("a flood is not told that it is one")
            for _ in range(500):
                liar.report()
    site.told("detached")


# ---- files and operators ------------------------------------------------------------------


@steady
def script_is_broken(site):
    broken = ["return +", 'error("at once")', "while true do end"]
    site.policy.write_text(site.random.choice(broken))
    site.told("policy_reload", text_has("kept the old script"))


@steady
def script_misbehaves(site):
    fault = site.random.choice(
        ["while true do end", 'error("on purpose")', "return {gpu_mhz = -1}",
         'local t = {} while true do t[#t + 1] = ("x"):upper() .. #t end']
    )
    site.policy.write_text("remeasure(modes[1])\n" + fault)
    site.told("policy_error")
    site.told("status", phase="safe")


@steady
def script_is_exchanged(site):
    name = site.random.choice(["binary_search", "linear", "maxn", "governor"])
    site.policy.write_text((SOURCE / f"scripts/{name}.lua").read_text())
    site.told("policy_reload", text="reloaded")
    site.told("setting")


@steady
def config_is_nonsense(site):
    text = site.config.read_text()
    site.config.write_text("[[schedule\npower = -1W \0 nonsense")
    site.daemon.send(signal.SIGHUP)
    try:
        site.command("run", "--config", site.config, "--sysroot", site.stack.mount, code=2)
    finally:
        site.config.write_text(text)


@steady
def cap_changes(site):
    for _ in range(site.random.randrange(1, 4)):
        site.set_cap()


@steady
def cap_is_infeasible(site):
    before_w = site.cap_w
    site.set_cap(4)
    site.told("over_cap", text_has("infeasible"))
    site.set_cap(before_w)


@steady
def second_daemon_is_started(site):
    folder = site.stack.folder
    done = site.command(
        "run", "--policy", site.policy, "--sysroot", site.stack.mount, "--state", site.stack.state,
        "--listen", f"ipc://{folder}/second.ipc", "--control", f"ipc://{folder}/second-control.ipc",
        code=3,
    )
    assert str(site.daemon.process.pid) in done.stderr, done.stderr


@steady
def daemon_stands_still(site):
    site.daemon.send(signal.SIGSTOP)
    try:
        site.said("stepped to the safe mode")
        time.sleep(site.random.uniform(0, 1))
    finally:
        site.daemon.send(signal.SIGCONT)


# ---- ends of the daemon -------------------------------------------------------------------


@ending
def daemon_is_killed_while_it_holds(site):
    pid = site.daemon.process.pid
    site.moved()
    site.daemon.send(signal.SIGKILL)
    told = site.said("the daemon is gone")
    if " 0 failed" not in told:
        raise MissedRestore(told)
    site.daemon.process.wait()
    site.wait_gone(pid)
    site.restored()


@ending
def daemon_is_killed_while_it_writes(site):
    site.policy.write_text(RESTLESS)
    site.told("policy_reload", text="reloaded")
    time.sleep(site.random.uniform(0.2, 2))
    daemon_is_killed_while_it_holds(site)


@ending
def daemon_and_guardian_are_killed(site):
    site.moved()
    site.daemon.kill()
    site.command("restore", "--sysroot", site.stack.mount, "--state", site.stack.state)
    site.restored()


@ending
def daemon_is_killed_and_the_next_puts_back(site):
    site.moved()
    site.daemon.kill()
    site.start_daemon()
    site.settle()
    site.end_daemon(signal.SIGTERM)
    site.restored()


@ending
def guardian_is_killed(site):
    (guardian,) = site.daemon.children()
    os.kill(guardian, signal.SIGKILL)
    site.said("its guardian process was killed")
    site.end_daemon(signal.SIGINT)
    site.restored()


@ending
def daemon_stands_still_and_is_killed(site):
    site.daemon.send(signal.SIGSTOP)
    site.said("stepped to the safe mode")
    site.daemon.send(signal.SIGKILL)
    site.said("the daemon is gone")
    site.daemon.process.wait()
    site.restored()


@ending
def operator_stops_it(site):
    site.command("stop", "--control", site.stack.control)
    site.end_daemon(None)
    site.restored()
    site.command("status", "--control", site.stack.control, code=4)


@ending
def knobs_cannot_be_put_back(site):
    site.moved()
    site.stack.fault("eio", f"{GPU}/max_freq")
    site.end_daemon(signal.SIGINT, wanted_code=1)
    site.stack.fault("eio", "none")
    site.command("restore", "--sysroot", site.stack.mount, "--state", site.stack.state)
    site.restored()
