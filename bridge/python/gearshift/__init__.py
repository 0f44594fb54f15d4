"""Attaches a program that trains or serves a DNN to the gearshift daemon.

    client = gearshift.attach("lenet", batch_size=16, batch_sizes=[8, 16, 32, 64])
    for images, labels in client.batches(loader):
        train(images, labels)

No daemon, one that dies, and one that comes in mid-run are all normal: the program trains on.
"""

from gearshift.client import Client, Minibatch, attach
from gearshift.interleaver import Interleaver
from gearshift.requests import RequestDropped, RequestLog, RequestNotServed, RequestRefused

__version__ = "0.1.0"
__all__ = [
    "Client",
    "Interleaver",
    "Minibatch",
    "RequestDropped",
    "RequestLog",
    "RequestNotServed",
    "RequestRefused",
    "attach",
]
