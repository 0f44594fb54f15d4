"""What a program trains with: a function, or an iterator, that runs one minibatch at a time."""

from __future__ import annotations

_ENDED = object()


def stepping(train):
    """A function that runs the next minibatch of `train`, and is False once training is over."""
    if callable(train):
        return lambda: not _is_false(train())
    iterator = iter(train)
    return lambda: next(iterator, _ENDED) is not _ENDED


def _is_false(answer):
    """False, of numpy and torch too: a loss of 0, or no answer at all, ends nothing."""
    if answer is None or isinstance(answer, bool):
        return answer is False
    is_bool = str(getattr(answer, "dtype", "")) in ("bool", "torch.bool")
    return is_bool and getattr(answer, "shape", None) == () and not answer
