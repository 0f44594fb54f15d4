"""A small trainer over the Python client, which trains until it is stopped; the soak starts it.

It multiplies matrices of its own so that a minibatch takes real time of a real processor; where the
daemon is, how large a batch is and whether there is a daemon at all, it learns from gearshift alone.
"""

import argparse
import signal
import sys

sys.path.insert(0, sys.argv[1])
import gearshift  # noqa: E402


def minibatch_of(size):
    total = 0.0
    for sample in range(60 * size):
        total += (sample % 7) * 0.5
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", help="the folder of the Python client")
    parser.add_argument("--connect", required=True, help="the daemon's endpoint")
    parser.add_argument("--name", default="digits")
    options = parser.parse_args()
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    client = gearshift.attach(
        options.name, "train", endpoint=options.connect, batch_size=16, batch_sizes=[8, 16, 32]
    )
    print("ready", flush=True)
    while not ended:
        with client.minibatch(0, batch_size=client.wanted_batch_size or 16):
            signal.sigtimedwait([], 0.05)  # what fetching a minibatch waits for
            minibatch_of(16)
    client.close()


if __name__ == "__main__":
    main()
