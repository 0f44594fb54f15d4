"""The file that lets a client in over tcp: written by `gearshift keys client`, used with CURVE."""

from __future__ import annotations

import dataclasses
import os
import shlex
import stat
import struct

import zmq

KEY_CHARACTERS = 40
MAX_FILE_BYTES = 4096
WORDS = ("name", "public", "secret", "server")
# ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH of zmq.h, which pyzmq has not always had.
MECHANISM_MISMATCH = 0x11000002
# What became of a handshake that failed: closed by a daemon that is full, or could not read what its key was to
# open; refused by one that has seen the key; or one side alone has keys. The most telling last.
CLOSED, REFUSED, ONE_SIDE_HAS_KEYS = range(3)


class KeyFileError(Exception):
    """The file cannot be used; says why and the way out, and nothing of what it holds."""


@dataclasses.dataclass(frozen=True)
class Key:
    name: str
    public: str
    secret: str = dataclasses.field(repr=False)
    server: str


def path_for(given=""):
    """The path given by the program, else the environment's; empty where there is none."""
    return str(given or os.environ.get("GEARSHIFT_KEY") or "")


def read(path) -> Key:
    """Reads a key file. Raises KeyFileError, also where others may read it."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            text = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise KeyFileError(f"key file {path}: {error.strerror}") from None
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(
            f"key file {path}: other users can get at it; chmod 600 {shlex.quote(path)}, and make a new key where "
            "they may have read it"
        )
    if len(text) > MAX_FILE_BYTES:
        raise KeyFileError(f"key file {path}: is larger than {MAX_FILE_BYTES} bytes")
    found = {}
    for line in text.decode("ascii", errors="replace").splitlines():
        word, _, value = line.partition(" ")
        if word in WORDS:
            found[word] = value
    keys = [found.get(word, "") for word in ("public", "secret", "server")]
    if "name" not in found or any(len(key) != KEY_CHARACTERS for key in keys):
        raise KeyFileError(
            f"key file {path}: has not a name and the keys public, secret and server; give the file "
            "that gearshift keys client made"
        )
    return Key(found["name"], *keys)


def use(socket, endpoint, given="") -> Key | None:
    """Makes `socket` take part in CURVE at its next connection to a tcp endpoint, where there is a key.

    Returns the key in use. Raises KeyFileError.
    """
    path = path_for(given)
    if not path or not endpoint.startswith("tcp://"):
        return None
    key = read(path)
    try:
        socket.curve_serverkey = key.server.encode()
        socket.curve_publickey = key.public.encode()
        socket.curve_secretkey = key.secret.encode()
    except (zmq.ZMQError, ValueError):
        raise KeyFileError(f"key file {path}: its keys are no keys of CURVE") from None
    return key


class Handshakes:
    """What became of a socket's handshakes, so that a key that is refused, missing or too much is no silence."""

    def __init__(self, socket):
        self._socket = socket
        self._monitor = socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_FAILED_AUTH
            | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
            | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
        )

    def take_failure(self):
        """What says most of those that failed since the last call: ONE_SIDE_HAS_KEYS, REFUSED or CLOSED, or None."""
        found = set()
        while self._monitor.poll(0):
            number, code = struct.unpack("=HI", self._monitor.recv_multipart(zmq.NOBLOCK)[0])
            refused = REFUSED if number == zmq.EVENT_HANDSHAKE_FAILED_AUTH else CLOSED
            found.add(ONE_SIDE_HAS_KEYS if code == MECHANISM_MISMATCH else refused)
        return max(found, default=None)

    def close(self):
        """Before the socket is closed: the context waits for each of its sockets."""
        self._socket.disable_monitor()
        self._monitor.close(0)
