"""The best that training beside requests can reach by two profiles: every power mode and batch size is
tried. A referee of its own: it shares no code with what searches."""

import csv
import math
from collections import defaultdict


def cells(path):
    """{mode: {batch size: (seconds a minibatch, watts)}} of a profile in CSV."""
    knobs = ("cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz", "power_limit_w", "cpu_quota_percent")
    found = defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            mode = tuple((knob, float(row[knob])) for knob in knobs if row.get(knob))
            found[mode][int(row["batch_size"])] = (
                float(row["minibatch_ms"]) / 1000,
                float(row["power_w"]),
            )
    return found


def mean_cells(passes):
    """One table of several measured one after the other: the mean of each cell."""
    found = defaultdict(dict)
    for mode in set.intersection(*(set(cells) for cells in passes)):
        for batch in set.intersection(*(set(cells[mode]) for cells in passes)):
            both = zip(*(cells[mode][batch] for cells in passes))
            found[mode][batch] = tuple(sum(values) / len(passes) for values in both)
    return found


def rate_of(train_s, infer_s, batch, rate):
    """Training minibatches a second in the time that inference leaves over."""
    return (1 - rate * infer_s / batch) / train_s


def highest_window_w(window_s, batch_s, infer_s, infer_w, train_w):
    """The highest mean power that a window sees of a batch of requests every batch_s seconds, with
    training in all the time between."""
    whole, rest_s = divmod(window_s, batch_s)
    rest_infer_s = min(rest_s, infer_s) if infer_w > train_w else max(0.0, rest_s - (batch_s - infer_s))
    share = (whole * infer_s + rest_infer_s) / window_s
    return share * infer_w + (1 - share) * train_w


def served(of_infer, batch, train_s, rate, latency_s, half_full):
    """(requests, seconds, watts) of the batches that are served: full where one comes and is answered in time; with
    half_full also as full as one is on average when a request of it would become late, if that is half; else None."""
    infer_s, infer_w = of_infer[batch]
    if batch / rate + infer_s <= latency_s:
        return batch, infer_s, infer_w
    if not half_full:
        return None
    left_s = 0.9 * latency_s - infer_s
    requests = rate * (left_s - train_s / 2)
    if train_s > left_s - infer_s / 2 or requests < batch / 2:
        return None
    above = min(size for size in of_infer if size >= requests)
    below = max((size for size in of_infer if size <= requests), default=above)
    share = (requests - below) / (above - below) if above > below else 1
    return requests, *(less + share * (more - less) for less, more in zip(of_infer[below], of_infer[above]))


def optimum(train, infer, train_batch, rate, latency_s, cap_w, window_s, half_full=False):
    """The most training minibatches a second, with mode, batch size and watts; None where requests
    cannot be answered in time within the cap. Power is the highest mean over a window of the board's
    sensor, which is what a cap is held against: with window_s = math.inf the mean by the times of
    both, with 0 the higher of the two. Batches are full in time, as the published problem has it; with
    half_full they need not be: served()."""
    best = None
    for mode, of_train in train.items():
        if mode not in infer or train_batch not in of_train:
            continue
        train_s, train_w = of_train[train_batch]
        for batch in infer[mode]:
            of_batch = served(infer[mode], batch, train_s, rate, latency_s, half_full)
            if of_batch is None or rate * of_batch[1] > of_batch[0]:
                continue
            requests, infer_s, infer_w = of_batch
            share = rate * infer_s / requests
            if window_s == 0:
                power_w = max(infer_w, train_w)
            elif math.isinf(window_s):
                power_w = share * infer_w + (1 - share) * train_w
            else:
                power_w = highest_window_w(window_s, requests / rate, infer_s, infer_w, train_w)
            if power_w > cap_w:
                continue
            a_second = rate_of(train_s, infer_s, requests, rate)
            if best is None or a_second > best[0]:
                best = (a_second, mode, batch, power_w)
    return best


def share_of(phases, bests, trained_at):
    """What was trained, of what the optima of the phases would have; 0 where there are none.

    phases: (name, begin, end, rate, cap) each, in seconds from the beginning.
    bests: the optimum() of each; a phase that has none does not count.
    trained_at: training minibatches that had ended so many seconds after the beginning."""
    of_phases = [
        (trained_at(end) - trained_at(begin), best[0] * (end - begin))
        for (_, begin, end, _, _), best in zip(phases, bests)
        if best
    ]
    asked = sum(best for _, best in of_phases)
    return sum(count for count, _ in of_phases) / asked if asked else 0.0
