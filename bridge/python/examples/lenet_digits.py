#!/usr/bin/env python3
"""Trains a real LeNet on real handwritten digits, on one CPU thread, attached to gearshift.

The 1797 digits of scikit-learn (8x8 pixels) are enlarged to 32x32, LeNet-5's own input, so that a
minibatch of 16 takes some milliseconds. A quarter of them is kept apart for the accuracy.

    python3 lenet_digits.py --epochs 5
    python3 lenet_digits.py --duration 60 --json
"""

import argparse
import json
import os
import pathlib
import sys
import time

# One thread for the arithmetic below torch too: read once, at import. Where PyTorch runs on OpenBLAS,
# torch.set_num_threads does not reach its pool, whose idle threads spin and use up a quota.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # where it is not installed

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import gearshift
import gearshift.torch

BATCH_SIZES = (8, 16, 32, 64)
MOST_EPOCHS = 1000


def digits():
    """(train, test) data sets of 1x32x32 images from 0 to 1 and their labels."""
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    images = nn.functional.interpolate(images, size=32, mode="bilinear", align_corners=False)
    # Always the same split, so that accuracies of different seeds compare.
    train, test = train_test_split(range(len(labels)), test_size=0.25, random_state=0, stratify=labels)
    labels = torch.tensor(labels)
    return [torch.utils.data.TensorDataset(images[part], labels[part]) for part in (train, test)]


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def accuracy(model, test):
    images, labels = test.tensors
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def options():
    parser = argparse.ArgumentParser(
        description="Trains LeNet on handwritten digits, attached to gearshift.",
        epilog="example: lenet_digits.py --duration 60 --batch-size 16 --json",
    )
    parser.add_argument("--epochs", type=int, help="stop after so many (5 without --duration)")
    parser.add_argument("--duration", type=float, help="stop after so many seconds")
    parser.add_argument("--batch-size", type=int, default=16, choices=BATCH_SIZES, help="to begin with")
    parser.add_argument("--workers", type=int, default=0, help="processes that fetch ahead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", default="lenet", help="workload name told to gearshift")
    parser.add_argument("--endpoint", default="", help="of the daemon; default: where it listens")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON line, last")
    chosen = parser.parse_args()
    if chosen.duration is not None and not chosen.duration > 0:
        parser.error(f"--duration {chosen.duration:g}: give a number of seconds above 0")
    if chosen.epochs is None:
        chosen.epochs = MOST_EPOCHS if chosen.duration else 5
    return chosen


def train(chosen):
    """Returns the summary as a dict."""
    torch.set_num_threads(1)
    torch.manual_seed(chosen.seed)
    train_set, test_set = digits()
    model = lenet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    loader = gearshift.torch.resizable_loader(
        train_set, chosen.batch_size, shuffle=True, num_workers=chosen.workers
    )
    client = gearshift.attach(
        chosen.name,
        kind="train",
        batch_size=chosen.batch_size,
        batch_sizes=BATCH_SIZES,
        samples_per_epoch=len(train_set),
        endpoint=chosen.endpoint,
    )
    began, cpu_began = time.monotonic(), time.process_time()
    out_of_time = False
    minibatches, sizes, epoch = 0, {}, -1
    training_seconds = 0.0
    for epoch in range(chosen.epochs):
        epoch_began = time.monotonic()
        for images, labels in client.batches(loader, epoch):
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optimizer.step()
            minibatches += 1
            sizes[len(labels)] = sizes.get(len(labels), 0) + 1
            out_of_time = chosen.duration and time.monotonic() - began >= chosen.duration
            if out_of_time:
                break
        training_seconds += time.monotonic() - epoch_began
        print(f"epoch {epoch}: accuracy {accuracy(model, test_set):.4f}, "
              f"batch size {client.wanted_batch_size}", flush=True)
        if out_of_time:
            break
    client.close()
    return {
        "accuracy": round(accuracy(model, test_set), 4),
        "epochs": epoch + 1,
        "minibatches": minibatches,
        "minibatch_ms_mean": round(1000 * training_seconds / max(minibatches, 1), 3),
        "minibatches_of_batch_size": {str(size): sizes[size] for size in sorted(sizes)},
        "cpu_seconds": round(time.process_time() - cpu_began, 3),
        "seconds": round(time.monotonic() - began, 3),
    }


def main():
    chosen = options()
    summary = train(chosen)
    if chosen.json:
        print(json.dumps(summary))
    else:
        print(f"accuracy {summary['accuracy']:.4f} after {summary['minibatches']} minibatches of "
              f"{summary['minibatch_ms_mean']} ms, {summary['cpu_seconds']} s of CPU time")


if __name__ == "__main__":
    main()
