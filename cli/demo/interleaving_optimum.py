"""The best that training beside requests can reach by two profiles: every power mode and batch size is
tried. A referee of its own: it shares no code with what searches."""

import csv
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


def optimum(train, infer, train_batch, rate, latency_s, cap_w, each=False):
    """The most training minibatches a second, with mode, batch size and watts; None where requests
    cannot be answered in time within the cap. Power is the mean by the times of both, or, with `each`,
    the higher of the two: then neither draws more than the cap while it has its turn."""
    best = None
    for mode, of_train in train.items():
        if mode not in infer or train_batch not in of_train:
            continue
        train_s, train_w = of_train[train_batch]
        for batch, (infer_s, infer_w) in infer[mode].items():
            share = rate * infer_s / batch
            power_w = max(infer_w, train_w) if each else share * infer_w + (1 - share) * train_w
            if share > 1 or batch / rate + infer_s > latency_s or power_w > cap_w:
                continue
            a_second = rate_of(train_s, infer_s, batch, rate)
            if best is None or a_second > best[0]:
                best = (a_second, mode, batch, power_w)
    return best
