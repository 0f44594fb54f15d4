"""What a training or serving loop sees of gearshift: minibatches are timed, wishes are followed."""

from __future__ import annotations

import time
import weakref

from gearshift import clock, wire
from gearshift.aside import Aside, WorkClock
from gearshift.connection import Connection
from gearshift.guarded import never_raises
from gearshift.minibatch import Minibatch
from gearshift.resizing import Resizing
from gearshift.samples import samples_in
from gearshift.turns import TurnToRun

UNOFFERED_IN_A_ROW = 10  # after which it is no last, smaller minibatch of an epoch that counts for nothing
UNTAKEN_IN_A_ROW = 32  # more than what is fetched ahead
NEWS_AGAIN_NS = 2 * 10**7
LONGEST_AT_IT_S = 0.1  # the other thread blocks on nothing, but may wait for its turn with the interpreter


def attach(
    name,
    kind="train",
    batch_size=1,
    batch_sizes=None,
    samples_per_epoch=0,
    endpoint="",
    synchronize=None,
    latency_ms=0,
    key="",
    save=None,
):
    """Attaches this program to the daemon, now or whenever there is one; returns a Client.

    name: of the work, 1 to 64 bytes; what is measured is remembered under it.
    kind: "train" or "infer".
    batch_size: samples in a minibatch now. batch_sizes: those that gearshift may ask for, ascending;
        left out, the batch size stays.
    samples_per_epoch: 0 where unknown.
    endpoint: where the daemon listens; left out, GEARSHIFT_ENDPOINT or the default place.
    synchronize: called at the end of each minibatch before the time is taken. On a GPU pass
        torch.cuda.synchronize, as the papers do: without it compute time is launch time alone.
    latency_ms: kind "infer": within what a request must be answered; 0: not said.
    key: file of `gearshift keys client`, where the endpoint is tcp:// and the daemon has keys; left out,
        GEARSHIFT_KEY. One that cannot be used is one warning.
    save: called with nothing, between two minibatches, when power is about to end: it saves the work, and
        raises where it cannot. The daemon waits for it, 30 s at most, and then lets this program
        wait until there is power again.

    Raises ValueError for options that no daemon would take. Nothing of the Client raises later.
    Attach after a fork, not before: a forked child's Client is silent.
    """
    offer = wire.checked_offer(
        name, kind, batch_size, batch_sizes, samples_per_epoch, latency_ms, save is not None
    )
    wire.checked_function("synchronize", synchronize)
    wire.checked_function("save", save)
    return Client(Connection(offer, str(endpoint or ""), str(key or "")), synchronize, save)


class Client:
    """One workload. Its methods are for the thread that trains; none blocks unless told to pause."""

    def __init__(self, connection: Connection, synchronize=None, save=None):
        self._connection = connection
        self._save = save
        self._synchronize = synchronize
        self._epoch = -1
        self._ended_ns = None  # of the newest Minibatch; None where the next begins a new epoch
        self._clock = WorkClock()
        self._unoffered = 0  # newest reports in a row of a size that was not offered
        self._wish = None  # that was not yet in force at the newest report
        self._untaken = 0  # newest minibatches in a row that began after such a wish, and did not take it up
        self._newest_size = 0  # samples of the newest minibatch
        self._failed = False  # the minibatch under way did not fit in memory
        self._follows = False  # a loader takes what is in force, although no daemon has asked for it
        weakref.finalize(self, connection.let_go).atexit = False  # the connection closes itself at exit

    # What the daemon wants.

    @property
    def attached(self) -> bool:
        """A daemon knows this workload; False once closed, and in a forked child."""
        return self._connection.attached and self._connection.usable

    @property
    def managed(self) -> bool:
        """A daemon decides for this workload; False too where it only observes."""
        return self._connection.managed and self._connection.usable

    @property
    def dropped_reports(self) -> int:
        """Reports that an attached daemon did not take in time, or that would have been more than it takes."""
        return self._connection.dropped_reports

    @property
    def wanted_batch_size(self) -> int:
        """Samples that the next minibatch should have: the daemon's wish, else what is in use."""
        return (self._connection.news() or self._connection.in_force).batch_size

    def should_run(self) -> bool:
        """False while the daemon wants this kind to wait between two minibatches."""
        connection = self._connection
        command = connection.news() or connection.in_force
        if command.attachment != connection.attachment or not connection.usable:
            return True
        return command.run in ("both", connection.offer.kind)

    @never_raises(False)
    def wait_while_paused(self) -> bool:
        """Saves if the daemon asked to, and returns once should_run(); True if either took time. A
        daemon that dies ends the wait."""
        return self._pause()

    def _must_pause(self) -> bool:
        return not self.should_run() or self._connection.checkpoint_waits

    def _pause(self) -> bool:
        took = self._save_if_asked()
        connection = self._connection
        while not self.should_run():
            took = True
            command = connection.news()
            if command:
                connection.apply(command)  # what it asks, to wait, is in force already
            connection.wait()
            self._save_if_asked()
        return took

    def _save_if_asked(self) -> bool:
        asked = self._connection.take_checkpoint()
        if asked is None:
            return False
        began_ns = clock.now_ns()
        failure = ""
        try:
            self._save()
        except Exception as error:
            failure = str(error) or type(error).__name__
            self._connection.tell_once("the work could not be saved; training goes on", exc_info=True)
        self._connection.answer_checkpoint(asked, clock.now_ns() - began_ns, failure)
        return True

    @never_raises(None)
    def refuse(self, code, message):
        """Refuses the wish not yet in force. code: "batch_size", "run", "memory" or "other"."""
        command = self._connection.news()
        if command:
            self._connection.refuse(command, str(code), str(message))

    # Minibatches.

    def batches(self, loader, epoch=None, samples=None, agree=None):
        """Yields what `loader` yields, once through, and reports each as one minibatch.

        Fetch stall is the visible wait for the loader, compute time what the loop's body took, and
        elapsed time runs from one end to the next; an epoch's first minibatch begins here, so that
        what happens between two epochs is in none. One whose body breaks out or raises is not
        reported. A loader of gearshift.torch.resizable_loader follows the wanted batch size; with any
        other the program does that, and the size of its batches tells when it has.

        epoch: its number from 0; left out, it counts the calls.
        samples: a function that tells how many samples a batch has; left out, its shape tells.
        agree: where several ranks of torch.distributed train together, on each of them: a function that is called
            before each minibatch with the batch size wanted of this rank, and returns the one that all ranks make.
            What it raises is raised. Without it such a rank refuses other sizes.
        """
        epoch = self._begin_epoch(epoch)
        resizing = Resizing(self, loader, agree)
        iterator = drawn = None
        began_ns = self._clock.now_ns()
        while True:
            if self.wait_while_paused():
                began_ns = self._clock.now_ns()
            resizing.before_next()
            if iterator is None:
                iterator = iter(loader)  # with workers it fetches ahead at once
            try:
                batch = next(iterator)
            except StopIteration:
                return
            fetched_ns = self._clock.now_ns()
            if drawn is None and resizing.sampler is not None:
                drawn = resizing.sampler.drawn  # this iteration's: the body may begin another
            size = self._begin(drawn, batch, samples)
            command = self._connection.in_force
            yield batch
            ended_ns = self._end(command, epoch, size, began_ns, fetched_ns)
            began_ns = ended_ns

    def minibatch(self, epoch=0, batch_size=None):
        """Times a `with` block as one minibatch, for loops that fetch their batches themselves.

        It begins where the one before it in this epoch ended (kind "train"), so that fetching before
        the block counts as fetch stall; with kind "infer" it begins with the block, since a server
        waits for requests in between. Fetching inside the block ends with Minibatch.fetched().
        Waits first while the daemon wants this kind to wait; that time is not counted.

        batch_size: its samples; left out, those in force. A wish for another batch size is in force
        from the first minibatch that has that size.
        """
        return Minibatch(self, epoch, batch_size)

    def aside(self):
        """A `with` block that is no minibatch's: an evaluation, a checkpoint, a plot.

            for step, (images, labels) in enumerate(client.batches(loader)):
                train(images, labels)
                if step % 100 == 99:
                    with client.aside():
                        evaluate()

        Its time is in none, whether the block is within a minibatch or between two of an epoch. A
        minibatch that ends in it is not reported.
        """
        return Aside(self)

    def turn(self):
        """A `with` block in which the accelerator is this program's alone, among those that take turns.

            with client.turn(), client.minibatch():
                train(images, labels)

        Programs that serve go before those that train. Waiting for the turn is in no minibatch's time.
        While the daemon wants this kind to wait, or asks to save, the block waits without a turn.
        Without a daemon, or with one that leaves, it runs at once.
        """
        return TurnToRun(self)

    @never_raises(None)
    def go_back(self, batch_size, message, error):
        """The batch size in force does not fit in memory, as `error` showed: this smaller one, of those offered, is in
        force. The daemon and the user are told; the minibatch that failed is not reported. For loops that catch what
        their minibatch raises: `batches` of a resizable_loader makes these once what it fetched ahead is used up; other
        loops ask wanted_batch_size. Where what failed is the size given to attach(), a turn that is held ends."""
        link = self._connection
        self._failed = True
        if batch_size >= link.in_force.batch_size or not link.usable:
            return  # what failed was fetched ahead
        if batch_size not in link.offer.batch_sizes:
            link.tell_once(f"go_back({batch_size!r}): give one of the batch sizes offered, {link.offer.sizes_text}")
            return
        link.tell_once(message, exc_info=error)
        self._follows = True
        link.go_back(batch_size, message)

    @never_raises(None)
    def send_reports(self):
        """Sends the reports that are gathered for up to 50 ms: where another's report is to come after them."""
        self._connection.service_if_free(LONGEST_AT_IT_S)

    @never_raises(None)
    def take_news(self):
        """Takes what the daemon sent, where nobody did for 20 ms: for a workload that reports nothing meanwhile, since
        the connection's own thread looks twice a second."""
        if time.monotonic_ns() - self._connection._flushed_ns >= NEWS_AGAIN_NS:
            self._connection.service_if_free()

    @never_raises(None)
    def report_requests(self, counts):
        """Tells what became of the requests of a server: what RequestLog.take_due() returned."""
        if counts:
            self._connection.report_requests(counts)

    @never_raises(None)
    def close(self):
        """Says bye; happens by itself at exit, and once nothing holds the Client any more, as where a
        notebook's cell is run again. The Client then reports no more, and pauses no more. Takes half a second at
        most."""
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    # Parts of a minibatch.

    @never_raises(0)
    def _begin_epoch(self, epoch):
        self._connection.tell_of_fork()
        epoch = self._epoch + 1 if epoch is None else int(epoch)
        self._epoch = min(max(epoch, 0), wire.MAX_EPOCH)
        return self._epoch

    @never_raises(1)
    def _begin(self, drawn, batch, count):
        """Number of samples in `batch`, with which a minibatch begins."""
        drawn_as = samples = None
        if drawn:
            drawn_as, samples = drawn.popleft()
        elif drawn is not None:
            self._connection.tell_once(
                "the loader is iterated twice at the same time, by one iterator, that of its persistent workers: make a "
                "second loader"
            )
        if count is not None:
            samples = self._samples(count, batch) or samples
        if samples is None:
            link = self._connection
            in_force = link.in_force.batch_size
            samples = samples_in(batch, (in_force, (link.news() or link.in_force).batch_size))
            samples = in_force if samples is None else samples
        self._take_up(drawn_as or samples)
        return samples

    @never_raises(None)
    def _samples(self, count, batch):
        return int(count(batch))

    def _take_up(self, batch_size):
        """Puts a wish in force if the minibatch that begins is the first to follow it."""
        self._failed = False
        command = self._connection.news()
        if command and command.batch_size == batch_size:
            self._connection.apply(command)
            if batch_size != self._newest_size:
                self._untaken = 0

    def _end(self, command, epoch, samples, began_ns, fetched_ns):
        """Reports; returns when the minibatch ended."""
        if self._failed or self._clock.stands:
            return self._clock.now_ns()
        self._call_synchronize()
        ended_ns = self._clock.now_ns()
        self._report(command, epoch, samples, began_ns, fetched_ns, ended_ns)
        return ended_ns

    @never_raises(None)
    def _call_synchronize(self):
        if self._synchronize is not None:
            self._synchronize()

    @never_raises(None)
    def _report(self, command, epoch, samples, began_ns, fetched_ns, ended_ns):
        elapsed_ns = max(ended_ns - began_ns, 1)
        if elapsed_ns > wire.MAX_ELAPSED_NS:
            return  # a laptop lid, a debugger: no minibatch
        if self._connection.attached and self._connection.offer.kind == "train":
            self._tell_of_unoffered(samples)
            self._refuse_untaken(samples)
        self._connection.report(
            command,
            epoch,
            min(max(samples, 1), wire.MAX_BATCH_SIZE),
            elapsed_ns,
            max(fetched_ns - began_ns, 0),
            max(ended_ns - fetched_ns, 0),
        )

    def _tell_of_unoffered(self, samples):
        """A daemon leaves out what it did not ask for: without a word, since last batches are smaller."""
        offer = self._connection.offer
        self._unoffered = 0 if samples in offer.batch_sizes else self._unoffered + 1
        if self._unoffered == UNOFFERED_IN_A_ROW:
            self._connection.tell_once(
                f"batches of {samples} samples, offered {offer.sizes_text}: nothing is measured; give attach() their "
                "size, or batches() samples=, a function that counts them"
            )

    def _refuse_untaken(self, samples):
        """A daemon waits in the lowest mode for a batch size: where no batch comes to have it that wish is
        refused, and those after it at once."""
        link, before = self._connection, self._wish
        wish, self._newest_size = link.news(), samples
        self._wish = wish
        if wish is None or wish is not before or wish.batch_size == samples:
            return
        self._untaken += 1
        if self._untaken >= UNTAKEN_IN_A_ROW:
            link.tell_once(
                "the daemon asks for another batch size, and no batch comes to have it: give batches() the loader of "
                "resizable_loader itself or minibatch() the batch_size, or attach() without batch_sizes"
            )
            link.refuse(wish, "batch_size", f"{wish.batch_size}: the batches stay at {samples}")
