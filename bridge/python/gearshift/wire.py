"""The messages of bridge/PROTOCOL.md: what is offered in a hello, and what the daemon's bytes say."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

import msgpack

VERSION = 1
MAX_FRAME_BYTES = 4096
MAX_MAP_ENTRIES = 64
MAX_BATCH_SIZES = 32
MAX_BATCH_SIZE = 1 << 20
MAX_SET = (1 << 32) - 1
MAX_EPOCH = (1 << 32) - 1
MAX_SAMPLES_PER_EPOCH = 10**12
MAX_ELAPSED_NS = 3600 * 10**9
MAX_NAME_BYTES = 64
MAX_MESSAGE_BYTES = 256
MAX_COUNT = (1 << 32) - 1
MAX_CHECKPOINT = (1 << 32) - 1
MAX_SEQUENCE = (1 << 63) - 1
# More than these in a report of requests would be a fault.
MOST_COUNTED = {
    **dict.fromkeys(("arrived", "served", "late", "refused", "queued"), MAX_COUNT),
    **dict.fromkeys((f"latency_{part}_ns" for part in ("p50", "p95", "p99", "max")), MAX_ELAPSED_NS),
    "span_ns": MAX_ELAPSED_NS,
}
HELLO_AFTER_ERROR_NS = 10 * 10**9
# After "too many", which others may have caused; not the same for all, so that each has its chance.
HELLO_AFTER_TOO_MANY_NS = (10**9, 3 * 10**9)
KINDS = ("train", "infer")
RUNS = ("train", "infer", "both")


class Offer(NamedTuple):
    """What a workload says of itself."""

    name: str
    kind: str
    batch_size: int
    batch_sizes: Tuple[int, ...]
    samples_per_epoch: int
    latency_ns: int  # that its requests are answered within; 0: it does not say
    saves: bool  # its work, when it is asked to

    @property
    def sizes_text(self) -> str:
        """For people."""
        return ", ".join(str(size) for size in self.batch_sizes)

    def below(self, batch_size) -> Offer:
        """Less the sizes from that one on: it does not fit in memory. At least one is below."""
        sizes = tuple(size for size in self.batch_sizes if size < batch_size)
        return self._replace(batch_size=min(self.batch_size, sizes[-1]), batch_sizes=sizes)


class Command(NamedTuple):
    """A wish of the daemon. It holds within one attachment; number 0 stands for none."""

    attachment: int
    number: int
    batch_size: int
    run: str

    def number_in(self, attachment) -> int:
        """What reports of that attachment call it: 0 where it is not one of its commands."""
        return self.number if self.attachment == attachment else 0


class Welcome(NamedTuple):
    """The daemon knows the workload."""

    heartbeat_ns: int
    silent_after_ns: int
    managed: bool
    message: str  # why it is not managed, for people


class Checkpoint(NamedTuple):
    """The daemon asks to save the work: power is about to end."""

    attachment: int
    number: int


def _whole(option, value) -> int:
    """The whole number that `value` is, of numpy and the like too. True is none."""
    try:
        number = value if isinstance(value, int) else int(value)
        if not isinstance(value, (bool, str, bytes)) and number == value:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{option} {value!r}: give a whole number")


def _sizes(batch_sizes) -> Tuple[int, ...]:
    try:
        sizes = () if batch_sizes is None else tuple(batch_sizes)
    except TypeError:
        raise ValueError(f"batch_sizes {batch_sizes!r}: give a list, for example [16, 32]") from None
    return tuple(_whole("batch_sizes", size) for size in sizes)


def checked_function(option, function):
    """`function`, which may be left out: None. Raises ValueError where it cannot be called."""
    if function is not None and not callable(function):
        raise ValueError(f"{option} {function!r}: give a function, or leave it out")
    return function


def checked_size(option, batch_size) -> int:
    """Raises ValueError, naming the option, for what no batch size is."""
    batch_size = _whole(option, batch_size)
    if not 1 <= batch_size <= MAX_BATCH_SIZE:
        raise ValueError(f"{option} {batch_size}: give 1 to {MAX_BATCH_SIZE}")
    return batch_size


def checked_offer(
    name, kind, batch_size, batch_sizes, samples_per_epoch, latency_ms=0, saves=False
) -> Offer:
    """Raises ValueError, naming the option and its value, for what no daemon would take."""
    printable = isinstance(name, str) and name.isprintable()
    if not (printable and 1 <= len(name.encode()) <= MAX_NAME_BYTES):
        raise ValueError(f"name {name!r}: give it 1 to {MAX_NAME_BYTES} printable bytes")
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}: it is 'train' or 'infer'")
    batch_size = checked_size("batch_size", batch_size)
    sizes = _sizes(batch_sizes) or (batch_size,)
    samples_per_epoch = _whole("samples_per_epoch", samples_per_epoch)
    ascends = all(low < high for low, high in zip(sizes, sizes[1:]))
    if len(sizes) > MAX_BATCH_SIZES or sizes[0] < 1 or sizes[-1] > MAX_BATCH_SIZE or not ascends:
        raise ValueError(
            f"batch_sizes {list(sizes)}: give at most {MAX_BATCH_SIZES}, each larger than the one "
            f"before, from 1 to {MAX_BATCH_SIZE}"
        )
    if batch_size not in sizes:
        raise ValueError(f"batch_size {batch_size}: it must be one of batch_sizes {list(sizes)}")
    if not 0 <= samples_per_epoch <= MAX_SAMPLES_PER_EPOCH:
        raise ValueError(
            f"samples_per_epoch {samples_per_epoch}: it is 0 (unknown) to {MAX_SAMPLES_PER_EPOCH}"
        )
    is_number = hasattr(latency_ms, "__float__") and not isinstance(latency_ms, bool)
    if not (is_number and 0 <= float(latency_ms) * 1e6 <= MAX_ELAPSED_NS):
        raise ValueError(f"latency_ms {latency_ms!r}: it is 0 (none) to {MAX_ELAPSED_NS // 10**6}")
    latency_ns = round(float(latency_ms) * 1e6)
    return Offer(name, kind, batch_size, sizes, samples_per_epoch, latency_ns, saves)


def hello(offer: Offer, pid, batch_size) -> dict:
    """What a program says of itself; `batch_size` is the one in use now."""
    message = {
        "type": "hello",
        "version": VERSION,
        "name": offer.name,
        "kind": offer.kind,
        "pid": pid,
        "batch_size": batch_size,
        "batch_sizes": offer.batch_sizes,
        "samples_per_epoch": offer.samples_per_epoch,
    }
    if offer.latency_ns:
        message["latency_ns"] = offer.latency_ns
    if offer.saves:
        message["saves"] = True
    return message


def hello_pause_ns(code, draws) -> int:
    """From an error to the next hello; `draws` are a random.Random's."""
    return draws.randint(*HELLO_AFTER_TOO_MANY_NS) if code == "too_many" else HELLO_AFTER_ERROR_NS


def minibatch(sequence, number, epoch, batch_size, elapsed_ns, fetch_stall_ns, compute_ns) -> dict:
    """One minibatch that ran wholly under the command `number` has ended."""
    return {
        "type": "minibatch",
        "sequence": sequence,
        "set": number,
        "epoch": epoch,
        "batch_size": batch_size,
        "elapsed_ns": elapsed_ns,
        "fetch_stall_ns": fetch_stall_ns,
        "compute_ns": compute_ns,
    }


def requests(sequence, number, counts) -> dict:
    """What became of the requests of a server, as RequestLog counts them."""
    message = {"type": "requests", "sequence": sequence, "set": number}
    message.update((name, min(value, MOST_COUNTED[name])) for name, value in counts.items())
    return message


def applied(command: Command) -> dict:
    """`command` is in force."""
    return {
        "type": "applied",
        "set": command.number,
        "batch_size": command.batch_size,
        "run": command.run,
    }


def refusal(number, code, message) -> dict:
    """The command `number` will not be in force."""
    return {"type": "refused", "set": number, "code": code, "message": cut(message)}


def saved(asked: Checkpoint, elapsed_ns, failure) -> dict:
    """What came of saving the work; `failure` is empty where it is saved."""
    if failure:
        return {"type": "unsaved", "checkpoint": asked.number, "message": cut(failure)}
    elapsed_ns = min(max(elapsed_ns, 0), MAX_ELAPSED_NS)
    return {"type": "saved", "checkpoint": asked.number, "elapsed_ns": elapsed_ns}


def welcome(message) -> Optional[Welcome]:
    """What a welcome says, or None. Its durations are held within what keeps both promises: never a flood,
    and never paused by a dead daemon."""
    heartbeat_ns = integer(message, "heartbeat_ns", 1, MAX_ELAPSED_NS)
    silent_after_ns = integer(message, "silent_after_ns", 1, MAX_ELAPSED_NS)
    if heartbeat_ns is None or silent_after_ns is None:
        return None
    return Welcome(
        min(max(heartbeat_ns, 10**7), 10**10),
        min(max(silent_after_ns, 10**8), 6 * 10**10),
        message.get("managed") is True,
        text(message, "message"),
    )


def command(message, attachment) -> Optional[Command]:
    """What a set asks of this attachment, or None."""
    number = integer(message, "set", 1, MAX_SET)
    batch_size = integer(message, "batch_size", 1, MAX_BATCH_SIZE)
    run = message.get("run")
    if number is None or batch_size is None or run not in RUNS:
        return None
    return Command(attachment, number, batch_size, run)


def checkpoint(message, attachment) -> Optional[Checkpoint]:
    """What a checkpoint asks of this attachment, or None."""
    number = integer(message, "checkpoint", 1, MAX_CHECKPOINT)
    return None if number is None else Checkpoint(attachment, number)


def cut(message) -> str:
    """As much of a text as a message takes, without what it does not: control characters."""
    text = "".join(letter if letter.isprintable() else " " for letter in message)
    return text.encode()[:MAX_MESSAGE_BYTES].decode(errors="ignore")


def integer(message, field, low, high) -> Optional[int]:
    """The field's value, or None where it is no integer (a bool is none) within the bounds."""
    value = message.get(field)
    return value if type(value) is int and low <= value <= high else None


def text(message, field, most_bytes=MAX_MESSAGE_BYTES) -> str:
    """The field's value fit to be shown to people: bounded, and no byte a terminal obeys."""
    value = message.get(field)
    if not isinstance(value, str):
        return ""
    return "".join(letter if letter.isprintable() else "?" for letter in value[:most_bytes])


def decode(frame) -> Optional[dict]:
    """One message as a dict with a str under "type", or None. Raises nothing for any bytes."""
    if not 0 < len(frame) <= MAX_FRAME_BYTES:
        return None
    try:
        message = msgpack.unpackb(frame, raw=False, strict_map_key=True)
    except Exception:  # msgpack's own errors have no common base, and any means the same here
        return None
    if not isinstance(message, dict) or len(message) > MAX_MAP_ENTRIES:
        return None
    return message if isinstance(message.get("type"), str) else None
