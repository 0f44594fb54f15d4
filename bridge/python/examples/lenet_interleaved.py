#!/usr/bin/env python3
"""Trains one LeNet and serves another on one accelerator in one process, requests before training.

Requests arrive as a Poisson process or as a recorded trace says, and each wants the digit on one image. The
training data are those of lenet_digits.py. A request's latency counts from the moment it was due to arrive,
so that a process too busy to take it is not flattered.

    python3 lenet_interleaved.py --duration 60 --rate 60 --latency-ms 100
    python3 lenet_interleaved.py --arrivals arrivals.csv --rate 60 --json     # a column t_s, in seconds

What a user would do otherwise, two processes left to the operating system, is this script twice:

    python3 lenet_interleaved.py --only train & python3 lenet_interleaved.py --only serve

With --turns those two take turns through the daemon, minibatch by minibatch.
"""

import argparse
import contextlib
import csv
import itertools
import json
import random
import threading
import time
from typing import Callable, NamedTuple

import lenet_digits  # beside this file; it finds the package where it is not installed
import torch
from torch import nn

import gearshift

MOST_ARRIVALS = 10**6


class Work(NamedTuple):
    """What is trained and served."""

    train: Callable  # (samples): runs one training minibatch
    answer: Callable  # (images): tells what is on each of a list of images
    images: list  # what is asked about
    samples_per_epoch: int
    synchronize: Callable = None  # of the accelerator


def training(chosen, train_set):
    """A function that runs one training minibatch."""
    model, criterion = lenet_digits.lenet(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    loader = torch.utils.data.DataLoader(
        train_set, batch_size=chosen.train_batch_size, shuffle=True, drop_last=True
    )
    minibatches = itertools.chain.from_iterable(itertools.repeat(loader))

    def train(_):
        images, labels = next(minibatches)
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()

    return train


def serving():
    """A function that tells the digits on a list of images."""
    model = lenet_digits.lenet().eval()

    def answer(images):
        with torch.inference_mode():
            return model(torch.stack(images)).argmax(1).tolist()

    return answer


def poisson(chosen):
    """Arrival times in seconds; within --burst the rate is so many times higher."""
    choose, now = random.Random(chosen.seed), 0.0
    factor, start, length = chosen.burst or (1.0, 0.0, 0.0)
    most = chosen.rate * max(factor, 1.0)
    for _ in range(MOST_ARRIVALS):
        now += choose.expovariate(most)  # thinned where the rate is lower
        if now >= chosen.duration:
            return
        rate = chosen.rate * (factor if start <= now < start + length else 1.0)
        if choose.random() * most < rate:
            yield now


def recorded(chosen):
    """The trace's arrivals, their times scaled so that the mean rate is --rate."""
    try:
        with open(chosen.arrivals, newline="") as file:
            times = sorted(float(row["t_s"]) for row in csv.DictReader(file))[:MOST_ARRIVALS]
    except OSError as error:
        raise SystemExit(f"--arrivals {chosen.arrivals}: {error.strerror}")
    except (KeyError, TypeError, ValueError, csv.Error):  # no such column, no number, no text
        times = []
    if len(times) < 2 or times[-1] <= times[0]:
        raise SystemExit(f"--arrivals {chosen.arrivals}: give a CSV file with two times or more in t_s")
    scale = (len(times) - 1) / (times[-1] - times[0]) / chosen.rate
    for time_s in times:
        if (time_s - times[0]) * scale >= chosen.duration:
            return
        yield (time_s - times[0]) * scale


class Arrivals:
    """A thread that submits requests when they are due, and keeps what became of each."""

    def __init__(self, chosen, submit, images):
        self._times = list(recorded(chosen) if chosen.arrivals else poisson(chosen))
        self._submit, self._images = submit, images
        self.latencies_s, self.refused = [], 0
        self._thread = threading.Thread(target=self._arrive, daemon=True)
        self._began = time.perf_counter()
        self._thread.start()

    def _arrive(self):
        for number, due in enumerate(self._times):
            pause = self._began + due - time.perf_counter()
            if pause > 0:
                time.sleep(pause)
            future = self._submit(self._images[number % len(self._images)])
            future.add_done_callback(lambda done, due=due: self._ended(done, due))

    def _ended(self, future, due):
        if future.exception() is None:
            self.latencies_s.append(time.perf_counter() - self._began - due)
        else:
            self.refused += 1

    def summary(self, latency_ms):
        self._thread.join(10)
        latencies_ms = sorted(1000 * latency for latency in self.latencies_s)
        late = sum(latency > latency_ms for latency in latencies_ms) if latency_ms else 0
        ended = len(latencies_ms) + self.refused
        # What waited when the time was over is in neither count.
        return {
            "requests": ended,
            "late": late + self.refused,
            "late_percent": round(100 * (late + self.refused) / max(ended, 1), 3),
            "refused": self.refused,
            **{
                f"latency_ms_p{percent}": round(
                    gearshift.requests.quantile(latencies_ms, percent), 2
                )
                for percent in (50, 95, 99)
            },
            "latency_ms_max": round(latencies_ms[-1], 2) if latencies_ms else 0,
        }


def train_alone(chosen, work):
    sizes = chosen.train_batch_sizes
    client = gearshift.attach(
        chosen.name, "train", chosen.train_batch_size, sizes, work.samples_per_epoch, chosen.endpoint,
        work.synchronize,
    )
    end = time.perf_counter() + chosen.duration
    minibatches = samples = 0
    while time.perf_counter() < end:
        size = client.wanted_batch_size
        with client.turn() if chosen.turns else contextlib.nullcontext(), client.minibatch(batch_size=size):
            work.train(size)
        minibatches += 1
        samples += size
    client.close()
    return {"train_minibatches": minibatches, "train_samples": samples}


def tell(interleaver):
    """A line of JSON a second, for who looks on."""
    began, second = time.perf_counter(), 0
    while True:
        second += 1
        time.sleep(max(0, began + second - time.perf_counter()))
        print(
            json.dumps({"second": second, "train_minibatches": interleaver.train_minibatches}),
            flush=True,
        )


def interleave(chosen, work):
    size = chosen.train_batch_size
    interleaver = gearshift.Interleaver(
        train=None if chosen.only == "serve" else lambda: work.train(size),
        infer=work.answer,
        latency_ms=chosen.latency_ms,
        name=chosen.name,
        batch_size=chosen.batch_size,
        batch_sizes=chosen.batch_sizes,
        train_batch_size=size,
        samples_per_epoch=work.samples_per_epoch,
        synchronize=work.synchronize,
        endpoint=chosen.endpoint,
        turns=chosen.turns,
    )
    with interleaver:
        arrivals = Arrivals(chosen, interleaver.submit, work.images)
        if chosen.progress:
            threading.Thread(target=tell, args=(interleaver,), daemon=True).start()
        interleaver.run(chosen.duration)
        summary = arrivals.summary(chosen.latency_ms)
    summary["infer_minibatches"] = interleaver.infer_minibatches
    if chosen.only != "serve":
        summary["train_minibatches"] = interleaver.train_minibatches
    return summary


def parser_of(what, example):
    parser = argparse.ArgumentParser(description=what, epilog=f"example: {example}")
    parser.add_argument("--duration", type=float, default=60.0, help="seconds")
    parser.add_argument("--rate", type=float, default=60.0, help="mean arrivals a second")
    parser.add_argument("--burst", help="FACTOR:START:SECONDS, a time in which so many times more arrive")
    parser.add_argument("--arrivals", help="CSV file whose column t_s has arrival times in seconds")
    parser.add_argument("--latency-ms", type=float, default=100.0, help="a request's limit; 0: none")
    parser.add_argument("--batch-size", type=int, default=4, help="requests in a minibatch, to begin with")
    parser.add_argument("--batch-sizes", default="1,2,4,8,16,32", help="what gearshift may choose from")
    parser.add_argument("--train-batch-size", type=int, default=16, help="samples")
    parser.add_argument("--only", choices=("train", "serve"), help="one of the two, for comparison")
    parser.add_argument("--turns", action="store_true", help="take turns with other processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch, on the processor")
    parser.add_argument("--name", help="workload name told to gearshift")
    parser.add_argument("--endpoint", default="", help="of the daemon; default: where it listens")
    parser.add_argument("--progress", action="store_true", help="print a line of JSON each second")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON line")
    return parser


def chosen_by(parser):
    chosen = parser.parse_args()
    try:
        chosen.batch_sizes = sorted({chosen.batch_size, *map(int, chosen.batch_sizes.split(","))})
    except ValueError:
        parser.error(f"--batch-sizes {chosen.batch_sizes}: give numbers with commas, like 1,4,16")
    if chosen.batch_sizes[0] < 1:
        parser.error("--batch-size and --batch-sizes: give numbers above 0")
    if chosen.burst:
        try:
            factor, start, length = map(float, chosen.burst.split(":"))
        except ValueError:
            parser.error(f"--burst {chosen.burst}: give FACTOR:START:SECONDS, like 3:20:10")
        chosen.burst = (factor, start, length)
    if chosen.rate <= 0 or chosen.duration <= 0:
        parser.error("--rate and --duration: give numbers above 0")
    return chosen


def run(chosen, work):
    """Trains, serves or does both, and prints what came of it."""
    if chosen.only == "train":
        summary = train_alone(chosen, work)
    else:
        summary = interleave(chosen, work)
    if "train_minibatches" in summary:
        rate = summary["train_minibatches"] / chosen.duration
        summary["train_minibatches_per_s"] = round(rate, 2)
    if chosen.json:
        print(json.dumps(summary))
        return
    if "requests" in summary:
        print(
            "{requests} requests: latency p50 {latency_ms_p50} ms, p95 {latency_ms_p95} ms, "
            "p99 {latency_ms_p99} ms, max {latency_ms_max} ms; {late} late ({late_percent} %), "
            "{refused} of them refused or dropped".format(**summary)
        )
    if "train_minibatches" in summary:
        print("{train_minibatches} training minibatches, {train_minibatches_per_s} a second".format(**summary))


def main():
    parser = parser_of(
        "Trains one LeNet and serves another, interleaved on one accelerator.",
        "lenet_interleaved.py --duration 60 --rate 60 --latency-ms 100 --json",
    )
    parser.set_defaults(name="lenet", train_batch_sizes=None)
    chosen = chosen_by(parser)
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    train_set, test_set = lenet_digits.digits()
    run(
        chosen,
        Work(
            train=training(chosen, train_set),
            answer=serving(),
            images=list(test_set.tensors[0]),
            samples_per_epoch=len(train_set),
        ),
    )


if __name__ == "__main__":
    main()
