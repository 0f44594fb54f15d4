"""How the loader of Client.batches comes to have the batch size that is wanted."""

from __future__ import annotations

import sys

from gearshift.guarded import never_raises

ONE_OF_MANY = (
    "the daemon asks for another batch size, and this is one of several ranks that train together, whose epochs would "
    "no longer have equally many batches: it is refused; give batches() agree=, by which all ranks make the same, or "
    "attach() no batch_sizes"
)


def one_of_many():
    """Whether this process is a rank beside others of torch.distributed, as under torchrun."""
    distributed = sys.modules.get("torch.distributed")  # where the program does not use it, nor does this
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return distributed.get_world_size() > 1


class Resizing:
    """Of one loader, in one epoch."""

    def __init__(self, client, loader, agree):
        sampler = getattr(loader, "batch_sampler", None)
        resizes = hasattr(sampler, "resize") and hasattr(sampler, "drawn")
        self.sampler = sampler if resizes else None  # None: the program makes the batches
        self._client = client
        self._agree = agree

    @property
    def _connection(self):
        return self._client._connection

    def before_next(self):
        """The next batch that is drawn has the size that is wanted, or that all ranks agree on."""
        if self.sampler is None:
            return
        agreed = None
        if self._agree is not None:  # what it raises is the program's own
            agreed = self._agree(self._client.wanted_batch_size)
        self._resize(agreed)

    @never_raises(None)
    def _resize(self, agreed):
        """Until a daemon has asked for a size the loader keeps its own."""
        link, sampler = self._connection, self.sampler
        news = link.news()
        command = news or link.in_force
        wanted = command.batch_size if agreed is None else int(agreed)
        if wanted == command.batch_size:
            self._client._untaken = 0  # this loader takes it up, after what it has fetched ahead
        if sampler.batch_size == wanted:
            return
        most = getattr(sampler, "samples_per_epoch", None)
        if agreed is None and not command.number and not self._client._follows:
            link.tell_once(
                f"the loader makes batches of {sampler.batch_size}, and attach() was told {wanted}: give both the same"
            )
        elif agreed is None and one_of_many():
            link.tell_once(ONE_OF_MANY)
            if news:
                link.refuse(news, "batch_size", f"{wanted}: one of several ranks that train together")
        elif most is None or wanted <= most:
            sampler.resize(wanted)
        elif news:  # no batch would ever have this size, and where the last one is dropped there were none
            link.refuse(news, "batch_size", f"{wanted}: an epoch has {most} samples")
