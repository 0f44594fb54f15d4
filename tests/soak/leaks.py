"""Watches what long-lived processes hold, and says whether it grows.

Memory is judged by a slope: RssAnon (what a process alone has allocated; pages of files and shared
pages come and go with the page cache) is read once a second, the least of each minute is the floor
beneath what floods of messages leave in the heap for a while, and through the floors goes the Theil-Sen
line, the median of the slopes between all pairs (P. K. Sen, 1968), which the steps in which an
allocator grows do not move as they move a least-squares line. The first fifth of the samples is warm-up
and left out. Descriptors and threads are whole numbers that come and go with
clients: the least that was ever held in the last fifth may not be above the least of the second.
"""

import collections
import os
import pathlib
import re
import statistics
import threading
import time

# What a daemon may gain a minute before it counts as a leak: it would take eight days to gain a
# gigabyte, and one reading that is kept of each tick (48 bytes, ten times a second) is 28 KiB.
BOUND_KIB_PER_MINUTE = 24.0
# Of shorter spans nothing can be said: an allocator grows in steps of some 132 KiB.
LEAST_SPAN_S = 300.0
FLOOR_S = 60.0


def floors(samples):
    """The least of each whole minute of (seconds, KiB, ...), at the minute's middle."""
    of_minute = {}
    for second, kib, *_ in samples:
        minute = int(second // FLOOR_S)
        of_minute[minute] = min(kib, of_minute.get(minute, kib))
    return [(FLOOR_S * (minute + 0.5), kib) for minute, kib in sorted(of_minute.items())]


def theil_sen(points):
    """The median slope between all pairs of (x, y)."""
    slopes = [
        (y2 - y1) / (x2 - x1)
        for i, (x1, y1) in enumerate(points)
        for x2, y2 in points[i + 1 :]
        if x2 > x1
    ]
    return statistics.median(slopes) if slopes else 0.0


def held(folder):
    """What the open descriptors are of: how many of each file or kind."""
    targets = collections.Counter()
    for descriptor in folder.iterdir():
        try:
            targets[re.sub(r":\[\d+\]$", "", os.readlink(descriptor))] += 1
        except FileNotFoundError:
            targets["closed meanwhile"] += 1
    return targets


class Watched:
    """One process, sampled for as long as it lives."""

    def __init__(self, name, pid):
        self.name = name
        self.pid = pid
        self.begun = time.monotonic()
        self.samples = []  # (seconds, KiB, descriptors, threads, what the descriptors are of)

    def sample(self):
        """False where the process is gone."""
        folder = pathlib.Path(f"/proc/{self.pid}")
        try:
            status = dict(
                line.split(":", 1) for line in (folder / "status").read_text().splitlines()
            )
            kib = int(status["RssAnon"].split()[0])
            descriptors = held(folder / "fd")
        except (OSError, KeyError):
            return False  # a process that is dying has no RssAnon any more
        seconds = time.monotonic() - self.begun
        self.samples.append((seconds, kib, descriptors.total(), int(status["Threads"]), descriptors))
        return True

    def report(self):
        """What was found, as a dictionary; `leaks` names what grew."""
        samples = self.samples
        warm = samples[len(samples) // 5 :]
        early, late = warm[: len(warm) // 4], warm[-(len(warm) // 4) :]
        found = {"process": self.name, "seconds": round(samples[-1][0], 1) if samples else 0.0}
        found["judged"] = bool(early) and warm[-1][0] - warm[0][0] >= LEAST_SPAN_S
        found["leaks"] = []
        if not early:
            return found
        slope = 60 * theil_sen(floors(warm))
        # At the beginning, after each tenth of its life, and at the end.
        found["rss_kib"] = [samples[len(samples) * tenth // 10][1] for tenth in range(10)]
        found["rss_kib"].append(samples[-1][1])
        found["rss_slope_kib_per_minute"] = round(slope, 2)
        if found["judged"] and slope > BOUND_KIB_PER_MINUTE:
            found["leaks"].append("memory")
        for column, what in ((2, "descriptors"), (3, "threads")):
            least = [min(sample[column] for sample in part) for part in (early, late)]
            found[what] = least
            if least[1] > least[0] and found["judged"]:
                found["leaks"].append(what)
        if "descriptors" in found["leaks"]:
            fewest = [min(part, key=lambda sample: sample[2])[4] for part in (early, late)]
            found["new_descriptors"] = dict(fewest[1] - fewest[0])
        return found


class LeakWatch:
    """Samples every process it was given once a second, in a thread of its own."""

    def __init__(self):
        self.all = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, name, pid):
        self.all.append(Watched(name, pid))

    def _run(self):
        alive = []
        met = 0
        while not self._ended.wait(1.0):
            alive += self.all[met:]
            met = len(self.all)
            alive = [watched for watched in alive if watched.sample()]

    def end(self):
        self._ended.set()
        self._thread.join()
        return [watched.report() for watched in self.all]
