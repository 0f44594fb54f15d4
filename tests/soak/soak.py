"""gearshift's soak: hours of random faults in virtual time, then minutes of them with real processes.

    make soak                                 # 24 simulated hours, then 30 minutes live
    soak.py --minutes 5 --seed 7 --only live

Everything that is broken, and when, comes from the seed. Each fault must be reported (by a note of the
daemon, a line of its guardian, an answer to the client that caused it, or an exit code), each end of
the daemon must leave the board as it was found, and no process may grow. Exit codes: 0 all of that
held, 1 something did not, 2 the command line cannot be used, 77 this machine cannot mount a board.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import traceback

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/process"))
try:
    import episodes
    from leaks import BOUND_KIB_PER_MINUTE, LeakWatch
    from soak_site import MissedRestore, Unreported, open_site
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# The daemon lives through the first part, so that its memory can be watched; then it is killed.
STEADY_SHARE = 0.7
# A long soak begins with so many floods: what they leave in the heap is there before growth is judged.
FIRST_FLOODS = 5
LONG_MINUTES = 10.0


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="of the live part, default 30")
    parser.add_argument("--hours", type=float, default=24.0, help="simulated, default 24")
    parser.add_argument("--seed", type=int, default=1, help="of what breaks and when, default 1")
    parser.add_argument("--only", choices=["simulated", "live"], help="one of the two parts")
    parser.add_argument("--episode", action="append", help="only episodes of this name; repeatable")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end")
    options = parser.parse_args()
    known = [function.__name__ for function in episodes.STEADY + episodes.ENDING]
    for name in options.episode or ():
        if name not in known:
            parser.error(f"--episode {name}: there is none of that name; one of {', '.join(known)}")
    if options.minutes <= 0 or options.hours <= 0:
        parser.error("--minutes and --hours are above 0")
    return options


class Progress:
    """What is told while it runs, on standard error so that --json has standard output."""

    def __init__(self):
        self.begun = time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.begun:7.1f} s  {text}", file=sys.stderr, flush=True)


def run_simulated(options, progress):
    """The swarm's scenario of so many hours."""
    swarm = pathlib.Path(os.environ.get("SWARM", "build/swarm"))
    words = [swarm, "--seed", options.seed, "--hours", options.hours]
    progress.say(f"{options.hours:g} simulated hours")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    progress.say(done.stdout.strip() or done.stderr.strip())
    return {"hours": options.hours, "passed": done.returncode == 0, "said": done.stdout.split("\n")}


class Live:
    """Runs episodes on one site until the time is over, and keeps what went wrong."""

    def __init__(self, options, progress):
        self.options = options
        self.progress = progress
        self.random = random.Random(options.seed)
        self.leaks = LeakWatch()
        self.stack, self.site = open_site(self.random, self.leaks)
        self.counts = collections.Counter()
        self.failures = []

    def chosen(self, functions):
        names = self.options.episode
        return [function for function in functions if not names or function.__name__ in names]

    def rounds(self, functions, seconds):
        """Each of the functions in a random order, again and again, until the time is over."""
        end = time.monotonic() + seconds
        functions = self.chosen(functions)
        while functions:
            order = functions[:]
            self.random.shuffle(order)
            for function in order:
                self.run(function)
                if self.stack.board.process.poll() is not None:
                    self.failures.append(
                        {"episode": function.__name__, "kind": "error",
                         "text": "the virtual board has ended, and with it the soak"}
                    )
                    return
                if time.monotonic() >= end:
                    return

    def run(self, function):
        name = function.__name__
        self.counts[name] += 1
        begun = time.monotonic()
        try:
            self.site.mend()
            self.site.settle()
            self.site.drain()
            function(self.site)
            self.progress.say(f"{name}: reported, {time.monotonic() - begun:.1f} s")
        except Exception as error:  # whatever it is, the soak goes on and tells it at the end
            kind = (
                "unreported" if isinstance(error, Unreported)
                else "missed restore" if isinstance(error, MissedRestore)
                else "error"
            )
            self.failures.append({"episode": name, "kind": kind, "text": str(error)})
            self.site.recover()
            self.progress.say(f"{name}: {kind.upper()}: {error}")
            if kind == "error":
                traceback.print_exc(limit=-2)

    def go(self):
        seconds = 60 * self.options.minutes
        if self.options.minutes >= LONG_MINUTES:
            for flood in self.chosen([episodes.client_floods]) * FIRST_FLOODS:
                self.run(flood)
        self.rounds(episodes.STEADY, STEADY_SHARE * seconds)
        if self.stack.board.process.poll() is None:
            self.rounds(episodes.ENDING, (1 - STEADY_SHARE) * seconds)
        if self.stack.board.process.poll() is None:
            self.run(episodes.operator_stops_it)
        watched = self.leaks.end()
        self.stack.__exit__()
        return watched

    def result(self):
        watched = self.go()
        grown = [one for one in watched if one["leaks"]]
        return {
            "minutes": self.options.minutes,
            "faults": sum(self.counts.values()),
            "episodes": dict(sorted(self.counts.items())),
            "nudges": self.site.nudges,
            "failures": self.failures,
            "bound_rss_kib_per_minute": BOUND_KIB_PER_MINUTE,
            "processes": [one for one in watched if one["judged"]] or watched[:3],
            "grown": grown,
            "passed": not self.failures and not grown,
        }


def text_of(result):
    lines = []
    if "simulated" in result:
        lines += [line for line in result["simulated"]["said"] if line]
    if "live" in result:
        live = result["live"]
        lines.append(f"{live['faults']} faults in {live['minutes']:g} minutes, live:")
        lines.append(f"  {live['nudges']:4d}  times a looser cap was needed to hold again")
        lines += [f"  {count:4d}  {name}" for name, count in live["episodes"].items()]
        for one in live["processes"]:
            judged = "" if one["judged"] else " (too short to be judged)"
            lines.append(
                f"{one['process']}: {one['seconds']:.0f} s, RssAnon "
                f"{one.get('rss_slope_kib_per_minute', 0):+.2f} KiB a minute (at most "
                f"{live['bound_rss_kib_per_minute']:g}), descriptors {one.get('descriptors')}, "
                f"threads {one.get('threads')}{judged}"
            )
        for failure in live["failures"]:
            lines.append(f"FAILED {failure['kind']}: {failure['episode']}: {failure['text']}")
        for one in live["grown"]:
            new = "".join(f", {count} more of {what}" for what, count in one.get("new_descriptors", {}).items())
            lines.append(f"GROWN {one['process']}: {', '.join(one['leaks'])}{new}")
    lines.append("passed" if result["passed"] else "failed")
    return "\n".join(lines)


def main():
    options = parse()
    progress = Progress()
    result = {"seed": options.seed}
    if options.only != "live":
        result["simulated"] = run_simulated(options, progress)
    if options.only != "simulated":
        if not os.path.exists("/dev/fuse"):
            print("skipped: there is no /dev/fuse to mount a board with")
            return 77
        result["live"] = Live(options, progress).result()
    result["passed"] = all(part["passed"] for part in result.values() if isinstance(part, dict))
    print(json.dumps(result) if options.json else text_of(result))
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
