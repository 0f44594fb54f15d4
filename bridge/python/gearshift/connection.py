"""The connection to the daemon: attaches, keeps alive, carries reports out and commands in.

Two threads use it. The training thread puts its reports into a bounded outbox and sends them itself, some at a time,
since handing them to another thread costs more than that; it takes the lock only where that is free, and else leaves
them to whoever has it. The other thread exists because a minibatch may take longer than the daemon waits for a sign of
life, and because a trainer may be between two epochs when a daemon comes: it wakes twice a second, sends heartbeats and
hellos, and takes what came.

What the training thread reads without the lock is immutable and says to which attachment it belongs:
`asked` is written under the lock alone, `in_force` by the training thread alone.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import random
import threading
import time

import msgpack

from gearshift import wire
from gearshift.budget import ReportBudget
from gearshift.daemon_socket import DaemonSocket
from gearshift.outbox import Outbox
from gearshift.told import TellOnce
from gearshift.wire import Checkpoint, Command

log = logging.getLogger("gearshift")

HELLO_AGAIN_NS = 10**9
TURN_AGAIN_NS = 2 * 10**7  # a daemon drops what is beyond a client's budget; asked again, it keeps its place
WAKE_NS = 5 * 10**8
PAUSED_POLL_MS = 100
TURN_POLL_MS = 10  # between two looks whether the turn is still wanted: requests may be due meanwhile
# Waking libzmq's thread costs 20 to 60 us, the rest of a report 5: so reports gather for half a tick of the daemon, and
# reporting costs a minibatch of any length the same small part.
GATHER_NS = 50 * 10**6
GATHER_MESSAGES = 32
BYE_LINGER_MS = 100
LONGEST_CLOSE_S = 0.5


class Connection:
    """One workload's place at the daemon, attached or not. Nothing here waits but `wait` and `close`."""

    def __init__(self, offer: wire.Offer, endpoint: str, key: str = ""):
        self.offer = offer
        self.attachment = 0  # its number; a new one when an attachment begins, and when it ends
        self.attached = self.managed = False
        self.in_force = Command(0, 0, offer.batch_size, "both")
        self._before = self.in_force  # what the newest one took the place of
        self.asked = self.in_force  # newest command
        self._refused = self.in_force
        self.checkpoint = self._answered_checkpoint = None  # newest that was asked for; that was answered
        self._budget = ReportBudget()
        self.dropped_reports = 0
        self._process = os.getpid()
        self._closed = self._ended = False  # ended: closed, and bye is said
        self._sequence = 0
        self._request_sequence = 0
        self._turn = self._turn_given = 0  # number of the newest turn asked for; of the newest one given
        self._knows_turns = True  # the daemon of this attachment does, as far as is known
        self._outbox = Outbox()
        self.tell_once = TellOnce()
        self._heartbeat_ns = 10**9
        self._silent_after_ns = 5 * 10**9
        self._heard_ns = self._sent_ns = self._next_hello_ns = time.monotonic_ns()
        self._flushed_ns = 0
        self._wake_ns = WAKE_NS
        self._packer = msgpack.Packer(use_bin_type=True)  # used under the lock
        self._lock = threading.Lock()  # guards the socket and all that service() writes
        self._holder = None  # thread that had the lock last
        self._wake = queue.SimpleQueue()  # what comes ends the thread's sleep; a collector may put it there
        self._random = random.Random()  # its own: the program's draws stay what they are
        self._thread = threading.Thread(target=self._keep_alive, name="gearshift", daemon=True)
        try:
            self._socket = DaemonSocket(endpoint, key, self.tell_once)
            self._thread.start()
        except Exception as error:  # of the system, of threads, of zmq
            self._closed = self._ended = True
            self.tell_once(f"no daemon can be reached: {error}; training goes on; raise ulimit -n or -u, attach anew")
        else:
            atexit.register(self.close)

    # The training thread's side.

    @property
    def usable(self) -> bool:
        """False once closed, and in a forked child: a loader's worker must not report."""
        return not self._closed and os.getpid() == self._process

    def news(self):
        """The newest command if it is neither in force nor refused, else None."""
        asked = self.asked
        known = asked is self.in_force or asked is self._refused or asked.attachment != self.attachment
        return None if known or not self.usable else asked

    def apply(self, command: Command):
        """From the minibatch that begins now, `command` is in force."""
        self._before, self.in_force = self.in_force, command
        self._post(command.attachment, wire.applied(command))

    def refuse(self, command: Command, code: str, message: str):
        """`command` will not be in force; what was in force stays."""
        self._refused = command
        if command.number:  # else it is the program's own size, for which nobody asked
            self._post(command.attachment, wire.refusal(command.number, code, message))

    def go_back(self, batch_size, message):
        """So many samples are in force: those of the command in force do not fit in memory. Its run stays. For the
        program's own size nobody asked, so there is nothing to refuse: it attaches anew, and offers less."""
        command = self.in_force
        self.in_force = command._replace(number=self._before.number_in(command.attachment), batch_size=batch_size)
        if not command.number_in(self.attachment):
            with self._holding():
                self.offer = self.offer.below(command.batch_size)
                self._detach(time.monotonic_ns())
                self._service()
        elif command is self.asked:
            self.refuse(command, "memory", message)

    @property
    def checkpoint_waits(self) -> bool:
        """One was asked for and not taken yet."""
        asked = self.checkpoint
        return asked is not self._answered_checkpoint and asked.attachment == self.attachment and self.usable

    def take_checkpoint(self):
        """The Checkpoint that was asked for and not taken yet, else None."""
        if not self.checkpoint_waits:
            return None
        self._answered_checkpoint = self.checkpoint
        return self._answered_checkpoint

    def answer_checkpoint(self, asked: Checkpoint, elapsed_ns, failure=""):
        """The work is saved, or not: `failure` says why, for people."""
        self._post(asked.attachment, wire.saved(asked, elapsed_ns, failure))

    def report(self, command, epoch, batch_size, elapsed_ns, fetch_stall_ns, compute_ns):
        """One minibatch that ran wholly under `command` has ended."""
        self._sequence += 1
        if not self.attached or not self.usable:
            return
        now_ns = time.monotonic_ns()
        if not self._budget.take(now_ns):
            self.dropped_reports += 1
            return
        attachment, times = self.attachment, (elapsed_ns, fetch_stall_ns, compute_ns)
        message = wire.minibatch(self._sequence, command.number_in(attachment), epoch, batch_size, *times)
        if not self._outbox.add(attachment, False, message):
            self.dropped_reports += 1
        if now_ns - self._flushed_ns >= GATHER_NS or len(self._outbox) >= GATHER_MESSAGES:
            self.service_if_free()

    def report_requests(self, counts):
        """What became of the requests, as RequestLog counts them."""
        self._request_sequence += 1
        if not self.attached or not self.usable:
            return
        attachment = self.attachment
        message = wire.requests(self._request_sequence, self.in_force.number_in(attachment), counts)
        if self._outbox.add(attachment, False, message):
            self.service_if_free()
        else:
            self.dropped_reports += 1

    def service_if_free(self, timeout_s=0):
        """Sends what is waiting and takes what came, unless the other thread is at it, for so long. Not in a forked
        child, where the socket fails and pyzmq tries again for ever."""
        if os.getpid() == self._process and self._lock.acquire(timeout=timeout_s):
            try:
                self._holder = threading.get_ident()
                self._service()
            finally:
                self._lock.release()
                if self._closed:
                    self._end()

    def wait(self):
        """Blocks until a message came, a tenth of a second at most. For a workload that is paused."""
        with self._holding():
            self._socket.poll(PAUSED_POLL_MS)
            self._service()

    def take_turn(self, gives_up=lambda: False):
        """Blocks until the accelerator is this workload's; returns the turn's number, 0 where no daemon
        gives any, and None once gives_up() is true. A daemon that leaves meanwhile ends the wait; one that
        does not answer is asked again, since it drops what is beyond a client's budget."""
        try:
            return self._await_turn(gives_up)
        except BaseException:  # Ctrl-C: the others need not wait until the turn is lost
            self.give_turn_back()
            raise

    def _await_turn(self, gives_up):
        attachment = asked_ns = None
        while self.attached and self.usable and self._knows_turns:
            with self._holding():
                now_ns = time.monotonic_ns()
                if attachment != self.attachment:
                    attachment, asked_ns = self.attachment, None
                    self._turn += 1
                elif gives_up():
                    self._send_turn("turn_end", self._turn)
                    return None
                elif self._turn_given == self._turn:
                    return self._turn
                if asked_ns is None or now_ns - asked_ns >= TURN_AGAIN_NS:
                    if not self._send_turn("turn_request", self._turn) and asked_ns is None:
                        return 0
                    asked_ns = now_ns
                else:
                    self._socket.poll(TURN_POLL_MS)
                self._service()
        return 0

    def end_turn(self, number):
        if not (number and self.attached and self.usable):
            return  # in a forked child the lock may be held for good
        with self._holding():
            if self.attached:
                self._send_turn("turn_end", number)

    def give_turn_back(self):
        """Ends the newest turn that was asked for, given or not."""
        self.end_turn(self._turn)

    def let_go(self):
        """Has the other thread say bye, soon. Neither waits nor takes a lock: the collector of any thread may
        call it, in the midst of anything."""
        if self.usable:
            self._closed = True
            self._wake.put(None)

    def close(self):
        """Says bye. Takes a tenth of a second at most where a daemon does not read, half a second while the name of
        its host is looked up. Happens at exit by itself."""
        self.let_go()
        if os.getpid() != self._process or self._thread.ident is None:
            return
        me = threading.get_ident()
        if me == self._thread.ident or (self._lock.locked() and self._holder == me):
            return  # a signal's handler, or a collector's: what it interrupted says bye
        self._thread.join(LONGEST_CLOSE_S)
        self._end()

    def _end(self, timeout_s=0):
        if self._ended or not self._lock.acquire(timeout=timeout_s):
            return  # who has it does this once it lets go of it
        try:
            self._holder = threading.get_ident()
            if not self._ended:
                self._ended = True
                self._flush()
                if self.attached:
                    self._send({"type": "bye"})
                self._socket.close(BYE_LINGER_MS if self.attached else 0)
                self.attached = False
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def _holding(self):
        try:
            with self._lock:
                self._holder = threading.get_ident()
                yield
        finally:
            if self._closed:  # meanwhile
                self._end()

    def tell_of_fork(self):
        """Warns where a forked child is about to work: it is silent."""
        if os.getpid() != self._process and not self._closed:
            self.tell_once("attached before a fork: this process reports nothing; attach in it")

    def _post(self, attachment, message):
        self._outbox.add(attachment, True, message)
        self.service_if_free()

    # Either thread, under the lock.

    def _keep_alive(self):
        while not self._closed:
            try:
                if time.monotonic_ns() - self._flushed_ns > self._wake_ns // 2:
                    with self._holding():
                        self._service()
            except Exception:
                self.tell_once("the connection failed; training goes on", exc_info=True)
            with contextlib.suppress(queue.Empty):
                self._wake.get(timeout=self._wake_ns / 1e9)
        self._end(timeout_s=-1)  # however long that takes
        self._socket.end()
        atexit.unregister(self.close)

    def _service(self):
        if self._closed:
            return
        for frame in self._socket.frames():
            self._take(frame)
        self._flush()
        now_ns = self._flushed_ns = time.monotonic_ns()
        if self.attached:
            if now_ns - self._heard_ns > self._silent_after_ns:
                log.info("the daemon has been silent; training goes on without it")
                self._detach(now_ns)
            elif now_ns - self._sent_ns >= self._heartbeat_ns - self._wake_ns:
                self._send({"type": "heartbeat"})
        if not self.attached and now_ns >= self._next_hello_ns:
            self._say_hello(now_ns)

    def _flush(self):
        self.dropped_reports += self._outbox.flush(self.attachment, self._send_frame)

    def _send(self, message) -> bool:
        return self._send_frame(self._packer.pack(message))

    def _send_turn(self, type, number) -> bool:
        self._flush()  # the report of what ran in it comes before its end
        return self._send({"type": type, "turn": number})

    def _send_frame(self, frame) -> bool:
        if not self._socket.send(frame):
            return False
        self._sent_ns = time.monotonic_ns()
        return True

    def _say_hello(self, now_ns):
        if not self._socket.connect(now_ns):
            self._next_hello_ns = now_ns + wire.HELLO_AFTER_ERROR_NS
        elif self._send(wire.hello(self.offer, self._process, self.in_force.batch_size)):
            self._next_hello_ns = now_ns + HELLO_AGAIN_NS
        else:
            self._socket.disconnect_if_stuck(now_ns)

    def _take(self, frame):
        message = wire.decode(frame)
        if message is None:
            return
        now_ns = self._heard_ns = time.monotonic_ns()
        kind = message["type"]
        if kind == "set" and self.attached:
            self._take_set(message)
        elif kind == "turn":
            self._turn_given = wire.integer(message, "turn", 1, wire.MAX_SEQUENCE) or 0
        elif kind == "checkpoint" and self.attached and self.offer.saves:
            self.checkpoint = wire.checkpoint(message, self.attachment) or self.checkpoint
        elif kind == "welcome":
            self._take_welcome(message)
        elif kind == "bye":
            self._detach(now_ns + HELLO_AGAIN_NS)
        elif kind == "error":
            self._take_error(message, now_ns)

    def _take_welcome(self, message):
        welcome = wire.welcome(message)
        if welcome is None:
            return
        self._heartbeat_ns, self._silent_after_ns = welcome.heartbeat_ns, welcome.silent_after_ns
        self._wake_ns = min(WAKE_NS, self._heartbeat_ns // 2)
        self.managed = welcome.managed
        self.attachment += 1
        self.attached = self._knows_turns = True
        log.info("attached as %s; managed: %s", self.offer.name, self.managed)
        if welcome.message and not self.managed:
            self.tell_once(f"{self.offer.name}: {welcome.message}")

    def _take_set(self, message):
        command = wire.command(message, self.attachment)
        newest = self.asked.number if self.asked.attachment == self.attachment else 0
        if command is None or command.number <= newest:
            return
        if command.batch_size not in self.offer.batch_sizes:
            said = f"{command.batch_size} is none of {self.offer.sizes_text}"
            self._send(wire.refusal(command.number, "batch_size", said))
            return
        self.asked = command

    def _take_error(self, message, now_ns):
        code = wire.text(message, "code", wire.MAX_NAME_BYTES)
        if code == "unknown_client":
            if self.attached:
                self._detach(max(now_ns, self._next_hello_ns))
        elif code == "unknown_type":
            self._knows_turns = False
        else:
            self.tell_once(f"the daemon says {code}: {wire.text(message, 'message')}")
            if not self.attached:
                self._next_hello_ns = now_ns + wire.hello_pause_ns(code, self._random)

    def _detach(self, next_hello_ns):
        self.attached = self.managed = False
        self.attachment += 1  # commands and reports of the old one are void from here on
        self._next_hello_ns = next_hello_ns
