"""How many samples a batch of any loader has, as far as its shape tells."""

from __future__ import annotations

from collections.abc import Mapping

MOST_DEEP = 4
MOST_LOOKED_AT = 8  # of what a batch holds: there may be hundreds
MOST_FIELDS = 4  # where all are alike, more are taken for samples


def samples_in(batch, expected=()):
    """Samples in a batch: an array, fields side by side (a tuple, list or map of arrays or lists that have a
    place for each sample), or a list of the samples. None where it does not tell.

    Some may be read in two ways: as three images, or two of three channels. One that is `expected` is
    believed then, or else the likelier.
    """
    if isinstance(batch, (tuple, list)) and not any(_holds_more(part) for part in batch[:MOST_LOOKED_AT]):
        return len(batch) if len(batch) in expected else None  # texts, or the numbers of one sample
    readings = _readings(batch, MOST_DEEP)
    if not readings and _holds_more(batch):  # fields that do not agree, as images and all of their boxes
        readings = _readings(next(iter(_parts(batch)), None), MOST_DEEP)
    return next((size for size in readings if size in expected), readings[0] if readings else None)


def _holds_more(batch):
    return isinstance(batch, (tuple, list, Mapping)) or getattr(batch, "shape", None) is not None


def _parts(batch):
    if isinstance(batch, Mapping):
        return list(batch.values())[:MOST_LOOKED_AT]
    return batch[:MOST_LOOKED_AT] if isinstance(batch, (tuple, list)) else ()


def _readings(batch, deep):
    """All that the number of samples may be, the likelier first."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return [int(shape[0])] if len(shape) else []
    parts = _parts(batch)
    told = [_readings(part, deep - 1) for part in parts] if deep else []
    told = [readings for readings in told if readings]  # a number beside them says nothing
    fields = [size for size in told[0] if all(size in readings for readings in told)] if told else []
    if isinstance(batch, Mapping) or not parts or not _alike(parts) or len(batch) in fields:
        return fields
    return fields + [len(batch)] if len(batch) <= MOST_FIELDS else [len(batch)] + fields


def _alike(parts):
    """Whether these may be samples of one kind."""
    return len({_kind(part) for part in parts}) == 1


def _kind(part):
    if isinstance(part, Mapping):
        return type(part), tuple(part)
    if isinstance(part, (tuple, list)):
        return type(part), len(part)
    return type(part), len(getattr(part, "shape", None) or ())
