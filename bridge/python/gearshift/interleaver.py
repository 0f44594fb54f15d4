"""Trains and serves on one accelerator in one process: one minibatch at a time, requests before all else."""

from __future__ import annotations

import functools
import os
import threading
from concurrent.futures import Future

from gearshift import client as clients
from gearshift import clock, wire
from gearshift.failures import FailureLog, for_requests, is_out_of_memory, size_that_fits
from gearshift.interleaving import (
    NEVER,
    State,
    admits,
    next_turn,
    serves,
    size_to_serve,
)
from gearshift.planning import Planning
from gearshift.requests import MOST_QUEUED, RequestDropped, RequestLog, answers_of, drop, drop_late, refusal
from gearshift.steps import stepping
from gearshift.turns import Turn
from gearshift.waiting import Waiting

LONGEST_WAIT_NS = 2 * 10**8  # so that a change of the daemon's wish or a stop is noticed
PAUSED_WAIT_NS = 2 * 10**7  # where such a change is to be expected
MADE_BEFORE_FORK = "made before a fork: make the Interleaver in each worker"


class Interleaver:
    """Owns the accelerator: requests are queued by `submit`, minibatches run in the thread of `run`.

        interleaver = gearshift.Interleaver(train=step, infer=answer, name="lenet", latency_ms=100,
                                            batch_size=4, batch_sizes=[1, 4, 16])
        threading.Thread(target=serve, args=(interleaver.submit,), daemon=True).start()
        interleaver.run()

    train: a function that runs one training minibatch, or an iterator that does so at each next(). None
        where nothing is trained; training is over when the function returns False or the iterator ends,
        and the trainer then says bye to the daemon.
    infer: answers a list of requests: returns as many answers, in their order. What it raises, or
        synchronize after it, its requests get; out of memory, they are answered in a smaller one of batch_sizes.
    latency_ms: within what a request must be answered, from submit to its answer; 0: no limit. Within it a batch that is
        not full waits for more, which saves energy: where nothing trains, until its latest start. See batch_size.
    name: of the work, told to the daemon; infer_name: of the served model, where that is another one.
    batch_size, batch_sizes: requests in an inference minibatch at most, and what gearshift may choose from. With a
        batch_size of 1 no request waits for others: for the least latency where nothing trains. With no limit none does
        there either, unless a daemon chose the size; else a batch is filled for a second at most.
    train_batch_size: samples in a training minibatch. samples_per_epoch: of training, 0 where unknown.
    turns: take turns with other programs through the daemon, minibatch by minibatch. Where this program
        alone uses the accelerator it is not needed.
    synchronize: called at the end of each minibatch before the time is taken; on a GPU
        torch.cuda.synchronize.
    endpoint, key: where the daemon listens, and the file of a key for it, as attach() has them.
    save: called with nothing between two minibatches when power is about to end, as attach() has it; requests wait
        meanwhile. Where something is trained, no more once that is over.

    The next minibatch is a training one unless requests are due: enough of them wait, or the oldest would be
    late if one more training minibatch ran, by the times measured here. Training that would make a request
    late waits. A request is refused at its arrival where those before it make it late, and dropped where it
    is late when its turn comes; both count as late. One whose infer raises is late where its time was over.

    It attaches to the daemon twice, as a trainer and as a server, and needs none.
    """

    def __init__(
        self,
        train=None,
        infer=None,
        latency_ms=0,
        name="interleaved",
        infer_name=None,
        batch_size=1,
        batch_sizes=None,
        train_batch_size=1,
        samples_per_epoch=0,
        endpoint="",
        synchronize=None,
        turns=False,
        key="",
        save=None,
    ):
        if not callable(infer):
            raise ValueError(f"infer {infer!r}: give the function that answers a list of requests")
        self._train = None if train is None else stepping(train)
        self._infer = infer
        self._synchronize = wire.checked_function("synchronize", synchronize)
        train_batch_size = wire.checked_size("train_batch_size", train_batch_size)
        self._turns = turns
        self._runs_in = None  # process that has called run()
        daemon = {"endpoint": endpoint, "key": key}
        wire.checked_function("save", save)
        serves = {"batch_sizes": batch_sizes, "latency_ms": latency_ms, "save": save if train is None else None}
        self._server = clients.attach(infer_name or name, "infer", batch_size, **serves, **daemon)
        self._trainer = None
        if train is not None:
            trains = {"samples_per_epoch": samples_per_epoch, "save": save}
            self._trainer = clients.attach(name, "train", train_batch_size, **trains, **daemon)
        self._clients = [client for client in (self._trainer, self._server) if client is not None]
        offer = self._server._connection.offer
        self._latency_ns = offer.latency_ns
        self._samples_per_epoch = self._trainer._connection.offer.samples_per_epoch if self._trainer else 0
        self._failures = FailureLog()
        self._most_answered = 0  # requests in a minibatch
        self._stopping = False
        self.train_minibatches = self.infer_minibatches = 0

        # Guards all below. A thread may take it twice: a signal's handler may call stop() anywhere.
        self._news = threading.Condition()
        self._log = RequestLog(self._latency_ns, clock.now_ns())
        self._queue = Waiting(self._log, self._latency_ns)
        self._plan = Planning(offer.batch_sizes, self._latency_ns)
        self._train_times, self._infer_times = self._plan.train_times, self._plan.infer_times
        self._batch_size = offer.batch_size
        self._busy_until_ns = 0  # when the minibatch that runs will have ended, by the times measured
        self._closed = False
        self._broken = ""  # the error by which run() ended, until it is called again

    # Any thread.

    def submit(self, request) -> Future:
        """Queues a request; the Future gets its answer, or RequestRefused or RequestDropped.

        The answer is set in the thread of run(), so a callback of the Future should be short.
        """
        future = Future()
        if self._runs_in not in (None, os.getpid()):  # nobody answers here, nor gives back a lock that was held
            self._server._connection.tell_once(f"an Interleaver {MADE_BEFORE_FORK}")
            future.set_exception(RequestDropped(MADE_BEFORE_FORK))
            return future
        with self._news:
            now_ns = clock.now_ns()
            if self._closed or self._broken:
                future.set_exception(RequestDropped("the server is closed" if self._closed else self._broken))
                return future
            self._log.arrived()
            self._plan.arrived(now_ns)
            queued = self._queue.wanted(now_ns)
            size = min(queued + 1, self._batch_size)
            infer_ns = self._infer_times.estimate_ns(size)
            state = State(queued=queued, batch_size=self._batch_size, latency=self._latency_ns, infer_minibatch=infer_ns)
            if queued < MOST_QUEUED and admits(state, max(self._busy_until_ns - now_ns, 0)):
                self._queue.add(now_ns, request, future)
                self._news.notify()
                return future
            self._log.refused()
            self._news.notify()
        future.set_exception(refusal(queued, size, infer_ns, self._latency_ns))
        return future

    @property
    def queued(self) -> int:
        """Requests that wait."""
        return len(self._queue)

    def stop(self):
        """Makes run() return after the minibatch under way, the next run() where there is none. What waits then is
        dropped, and so is what comes until run() is called again. A signal handler may call it."""
        self._stopping = True
        with self._news:
            self._news.notify()

    # The thread that owns the accelerator.

    def run(self, duration_s=None):
        """Runs minibatches until stop() or close(), or for so many seconds. Goes on serving when training is over.
        Raises what `train` does, or synchronize after it, and Ctrl-C; requests are then dropped until the next run().
        After so many seconds they wait for it: where none follows, close() ends them, or a `with` block does.
        """
        self._server._connection.tell_of_fork()
        self._runs_in = os.getpid()
        end_ns = NEVER if duration_s is None else clock.now_ns() + round(min(duration_s * 1e9, NEVER))
        self._broken = ""
        try:
            while not (self._stopping or self._closed) and clock.now_ns() < end_ns:
                self.step(end_ns)
            if self._stopping:
                self._break("stop() ended run()")
                self._stopping = False  # not where `train` raised meanwhile: the next run() obeys it
        except BaseException as error:
            self._break(f"{type(error).__name__} ended run()")
            raise

    def step(self, end_ns=NEVER) -> str:
        """Runs the minibatch that is next, or waits for one; returns "train", "infer" or "wait"."""
        for client in self._clients:
            client._save_if_asked()
        trains, infers = self._follow()
        if not infers:
            self._drop_late()
        with self._news:
            now_ns = clock.now_ns()
            state = self._state(now_ns, trains, infers)
            turn, longest_ns = next_turn(state)
            self._plan.judge(state, turn, self.infer_minibatches, now_ns)
            report = self._log.take_due(now_ns, state.queued)
            if turn == "wait" and report is None:
                longest_ns = min(longest_ns, PAUSED_WAIT_NS if self._is_paused() else LONGEST_WAIT_NS, end_ns - now_ns)
                if state.queued:
                    longest_ns = min(longest_ns, self._log.next_due_ns() - now_ns)
                longest_ns = max(longest_ns, 0)
                self._news.wait(longest_ns / 1e9)
                self._plan.oversleeping.add(clock.now_ns() - now_ns - longest_ns)
            self._busy_until_ns = now_ns
            if turn == "train":
                self._busy_until_ns += state.train_minibatch
            elif turn == "infer":
                size = min(len(self._queue), self._batch_size)
                self._busy_until_ns += self._infer_times.estimate_ns(size)
        if report and self._trainer is not None:  # first: a minibatch that stalled is why requests were late
            self._trainer.send_reports()
        self._server.report_requests(report)
        if turn == "wait" or self._is_paused():
            for client in self._clients:
                client.take_news()
        if turn == "wait" or not self._turns:
            self._run_turn(turn, now_ns)
            return turn
        gives_up = functools.partial(self._gives_up, turn, trains, infers, end_ns)
        with Turn(self._trainer if turn == "train" else self._server, gives_up) as held:
            if held.given_up or self._closed:
                self._busy_until_ns = 0
                return "wait"
            self._run_turn(turn, now_ns)
        return turn

    def close(self):
        """Says bye to the daemon and drops what waits; run() returns after the minibatch under way. Happens at
        the end of a `with` block."""
        with self._news:
            self._closed = True
            self._news.notify()
        self._break("the server closed before its turn came")
        for client in reversed(self._clients):
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def _break(self, why):
        """Drops what waits and what comes until the next run(), and tells the daemon of all that it has not heard of."""
        with self._news:
            self._broken, now_ns = why, clock.now_ns()
            left, rest = self._queue.take_all(now_ns), self._log.take_rest(now_ns)
        drop(left, why)
        self._server.report_requests(rest)

    # Parts of a step.

    def _follow(self):
        """Puts in force what the daemon asks for: (training may run, inference may run)."""
        runs = []
        for client in (self._trainer, self._server):
            if client is None:
                runs.append(False)
                continue
            link = client._connection
            command = link.news()
            if command:  # nothing is prefetched: the next minibatch to begin is the first to follow it
                link.apply(command)
                self._plan.try_again()
                if client is self._server:
                    with self._news:
                        self._batch_size = command.batch_size
            runs.append(client.should_run())
        return runs[0] and self._train is not None, runs[1]

    def _is_paused(self):
        """The daemon lets a kind wait, and may let it go on at any time."""
        return any(not client.should_run() for client in self._clients)

    def _gives_up(self, turn, trains, infers, end_ns):
        """Whether a turn is not waited for any more: there is a stop or a wish of the daemon to obey, or requests,
        which go before training, came meanwhile."""
        at_ns = clock.now_ns()
        links = [client._connection for client in self._clients]
        if self._stopping or at_ns >= end_ns or any(link.news() or link.checkpoint_waits for link in links):
            return True
        if not infers:
            self._drop_late()
        with self._news:
            return turn == "train" and next_turn(self._state(at_ns, trains, infers))[0] != turn

    def _state(self, now_ns, trains, infers):
        link = self._server._connection
        chosen = link.in_force.number_in(link.attachment) > 0
        return self._plan.state(
            self._queue, self._batch_size, now_ns, trains=trains, infers=infers, size_is_chosen=chosen
        )

    def _take_batch(self, batch):
        """Fills `batch` with entries to answer; those that are late for certain are dropped."""
        now_ns = clock.now_ns()
        with self._news:
            waited = self._queue.waited_ns(now_ns, self._batch_size)
            size = size_to_serve(self._infer_times, waited, self._batch_size, self._latency_ns)
            state = State(latency=self._latency_ns, infer_minibatch=self._infer_times.estimate_ns(size))
            late = self._queue.take(size, now_ns, functools.partial(serves, state), batch)
        drop_late(late, now_ns, self._latency_ns)

    def _drop_late(self):
        """While the daemon lets requests wait nothing else ends those that are late."""
        now_ns = clock.now_ns()
        with self._news:
            late = self._queue.take_late(now_ns)
        drop_late(late, now_ns, self._latency_ns)

    def _run_turn(self, turn, asked_ns):
        """What is planned with is the time from asked_ns to the end, that for a turn included."""
        if turn == "train":
            self._run_train(asked_ns)
        elif turn == "infer":
            self._run_infer(asked_ns)

    def _run_train(self, asked_ns):
        command = self._trainer._connection.in_force
        began_ns = clock.now_ns()
        if not self._train():
            self._train = None
            self._trainer._connection.let_go()  # else settings are tuned for work that never comes
            return
        ended_ns = self._ended()
        self._train_times.add(ended_ns - asked_ns)
        samples = self._trainer._connection.offer.batch_size
        seen = self.train_minibatches * samples
        epoch = seen // self._samples_per_epoch if self._samples_per_epoch else 0
        self.train_minibatches += 1
        self._trainer._report(command, epoch, samples, began_ns, began_ns, ended_ns)

    def _run_infer(self, asked_ns):
        batch, counted = [], False
        try:
            self._take_batch(batch)
            if not batch:
                return
            self.infer_minibatches += 1
            began_ns = clock.now_ns()
            answers = answers_of(self._infer([request for _, request, _ in batch]), len(batch))
            ended_ns = self._ended()  # where an error of a GPU shows
            self._count_answered(batch, asked_ns, began_ns, ended_ns)
            counted = True
            for (_, _, future), answer in zip(batch, answers):
                future.set_result(answer)
        except BaseException as error:
            if is_out_of_memory(error) and self._serve_fewer(batch, error):
                return
            self._fail(batch, error, counted)
            if not isinstance(error, Exception):
                raise
            self._failures.tell(error)

    def _serve_fewer(self, batch, error):
        """So many requests did not fit in memory: they wait again, before all others, for a smaller batch. False
        where none is offered."""
        size = size_that_fits(self._server._connection.offer.batch_sizes, len(batch), self._most_answered)
        with self._news:
            if size is None or self._closed:
                return False
            self._batch_size = size
            self._queue.put_back(batch)
        why = f"{len(batch)} requests at once do not fit in memory, {size} are answered at most"
        self._server.go_back(size, why, error)
        return True

    def _count_answered(self, batch, asked_ns, began_ns, ended_ns):
        command = self._server._connection.in_force
        self._server._report(command, 0, len(batch), began_ns, began_ns, ended_ns)
        self._most_answered = max(self._most_answered, len(batch))
        with self._news:
            self._infer_times.add(len(batch), ended_ns - asked_ns)
            for arrived_ns, _, _ in batch:
                self._log.answered(ended_ns - arrived_ns)

    def _fail(self, batch, error, counted):
        """What is not answered yet never will be."""
        now_ns = clock.now_ns()
        failed = [(arrived_ns, future) for arrived_ns, _, future in batch if not future.done()]
        with self._news:
            for arrived_ns, _ in failed if not counted else ():
                self._log.ended(now_ns - arrived_ns)
        for _, future in failed:
            future.set_exception(for_requests(error))

    def _ended(self):
        if self._synchronize is not None:
            self._synchronize()
        return clock.now_ns()
