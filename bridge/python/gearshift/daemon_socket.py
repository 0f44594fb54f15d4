"""The socket to the daemon: connected to where that listens, and anew where it moved or the connection broke."""

from __future__ import annotations

import contextlib
import logging

import zmq

from gearshift import endpoint as endpoints
from gearshift import key as keys
from gearshift import room, wire

log = logging.getLogger("gearshift")

CONNECT_AGAIN_NS = 3 * 10**9
LONGEST_CONNECT_NS = 60 * 10**9
MOST_UNANSWERED = 3  # messages; more hellos that a daemon finds at once when it goes on are too many for it
MAX_MESSAGES_TAKEN = 64  # at once, so that no daemon can hold up a minibatch


class DaemonSocket:
    """Not for several threads at once. `tell_once` logs a warning that was not logged before. Raises OSError,
    RuntimeError or zmq.ZMQError where the process may open no more files or threads."""

    def __init__(self, endpoint, key, tell_once):
        self._given_endpoint, self._given_key = endpoint, key
        self._tell_once = tell_once
        self._handshakes = None  # watched over tcp, where a daemon may have keys
        self._key = None  # the one in use
        self._connected_endpoint = ""
        self._looked_for_at = None  # as it was told
        self._connected_ns = 0
        self._patience_ns = CONNECT_AGAIN_NS  # with a connection that cannot be sent by
        self._unanswered = 0  # messages sent since one came, or since it connected
        self._in_second_frame = False
        room.require()
        self._context = zmq.Context(1)
        self._socket = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.IMMEDIATE, 1),  # with no daemon a message is dropped, not kept until it is stale
            (zmq.LINGER, 0),
            (zmq.SNDHWM, 1000),
            (zmq.RCVHWM, 256),
            (zmq.MAXMSGSIZE, wire.MAX_FRAME_BYTES),
            (zmq.RECONNECT_IVL, 100),
            (zmq.RECONNECT_IVL_MAX, 1000),
        ):
            self._socket.setsockopt(option, value)

    def connect(self, now_ns) -> bool:
        """To where the daemon is looked for now, if anywhere, and anew where it does not answer: one that stands
        still takes no connection, and no hello. False where that cannot be, which is told once."""
        endpoint = endpoints.find(self._given_endpoint, self._tell_once)
        if endpoint != self._looked_for_at:
            self._looked_for_at = endpoint
            log.info(f"the daemon is looked for at {endpoint}" if endpoint else endpoints.none_found())
        if endpoint == self._connected_endpoint and self._unanswered < MOST_UNANSWERED:
            return True
        try:
            self._disconnect()
            if not endpoint:
                return True
            self._key = keys.use(self._socket, endpoint, self._given_key) or self._key
            if endpoint.startswith("tcp://"):
                self._handshakes = self._handshakes or keys.Handshakes(self._socket)
            self._socket.setsockopt(zmq.IPV6, endpoints.is_ipv6(endpoint))
            self._socket.connect(endpoint)
        except keys.KeyFileError as error:
            self._tell_once(str(error))
            return False
        except zmq.ZMQError as error:
            self._tell_once(f"endpoint {endpoint}: {error}; give one like ipc:///path or unset it")
            return False
        self._connected_endpoint, self._connected_ns, self._unanswered = endpoint, now_ns, 0
        return True

    def disconnect_if_stuck(self, now_ns):
        """After a send that failed: the next connect() is a new one, unless this one is young.

        libzmq gives up for good on a peer that breaks its framing: it is told anew. Over tcp it may be looking up a
        name, for which it begins again then: it has twice the time each time.
        """
        endpoint = self._connected_endpoint
        if not endpoint or now_ns - self._connected_ns <= self._patience_ns:
            return
        self._disconnect()
        if self._handshakes is None:
            return
        failure = self._handshakes.take_failure()
        if failure is not None:
            self._patience_ns = CONNECT_AGAIN_NS
            self._tell_of_failure(f"the daemon at {endpoint}", failure)
        else:
            self._patience_ns = min(2 * self._patience_ns, LONGEST_CONNECT_NS)

    def _tell_of_failure(self, daemon, failure):
        """What became of the handshakes with it, and the way out."""
        if not self._key:
            way = "gearshift keys client NAME there, and GEARSHIFT_KEY=FILE here"
            self._tell_once(
                f"{daemon} wants a key: {way}" if failure == keys.ONE_SIDE_HAS_KEYS else
                f"{daemon} closes the connection before it has heard the client: it holds as many as it takes, 128 at "
                f"most, or wants a key: {way}"
            )
            return
        name, public = self._key.name, self._key.public
        self._tell_once({
            keys.CLOSED: f"{daemon} closes the connection before it has seen the key of client {name}: it has another "
            "key than the key file's server line (gearshift keys list shows it there), uses none, or holds as many "
            "connections as it takes, 128 at most",
            keys.REFUSED: f"{daemon} refuses the key of client {name}: its operator lets the client in with gearshift "
            f"keys authorise {name} '{public}'",
            keys.ONE_SIDE_HAS_KEYS: f"{daemon} uses no keys, and lets in nobody who has one: give the client none "
            "(GEARSHIFT_KEY), or start the daemon with --keys",
        }[failure])

    def send(self, frame) -> bool:
        """False where there is no daemon, or it does not read."""
        try:
            self._socket.send(frame, zmq.NOBLOCK)
        except zmq.ZMQError:
            return False
        self._unanswered += 1
        return True

    def poll(self, milliseconds):
        """Blocks until a message is here, so long at most."""
        self._socket.poll(milliseconds)

    def frames(self):
        """Yields the messages that are here, of one frame each: others are no messages."""
        for _ in range(MAX_MESSAGES_TAKEN):
            if not self._socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                return
            frame = self._socket.recv(zmq.NOBLOCK)
            self._unanswered, self._patience_ns = 0, CONNECT_AGAIN_NS
            more, in_second = self._socket.getsockopt(zmq.RCVMORE), self._in_second_frame
            self._in_second_frame = bool(more)
            if not more and not in_second:
                yield frame

    def close(self, linger_ms):
        """Never waits. linger_ms: how long end() tries to send what was not yet."""
        self._socket.setsockopt(zmq.LINGER, linger_ms)
        if self._handshakes is not None:
            self._handshakes.close()
        self._socket.close()

    def end(self):
        """After close(). Blocks while libzmq looks up the name of the daemon's host, which may take long."""
        self._context.term()

    def _disconnect(self):
        if self._connected_endpoint:
            with contextlib.suppress(zmq.ZMQError):  # libzmq may have dropped it already
                self._socket.disconnect(self._connected_endpoint)
        self._connected_endpoint = ""
