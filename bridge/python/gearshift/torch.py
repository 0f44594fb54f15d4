"""Lets gearshift change the batch size of a live PyTorch DataLoader between two minibatches."""

from __future__ import annotations

import collections
import itertools

from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Sampler, SequentialSampler


class ResizableBatchSampler(Sampler):
    """Groups a sampler's indices into batches whose size may change in mid-epoch.

    Every index is still in one batch an epoch (drop_last drops the last, smaller one). A new size
    holds from the next batch drawn on; batches that a DataLoader's workers have fetched ahead keep
    theirs, and are used up first.

    drawn: (batch size then, samples) of each batch that the iteration begun last has drawn, first to last; who
        iterates takes them from the left.
    """

    def __init__(self, sampler, batch_size, drop_last=False):
        self.sampler = sampler
        self.drop_last = drop_last
        self.batch_size = batch_size
        self.resize(batch_size)
        self.drawn = collections.deque()
        self._drawn_batches = 0
        self._left = None  # samples of this epoch not yet drawn; None: no epoch is under way, or nobody knows

    @property
    def samples_per_epoch(self):
        """None where the sampler has no length."""
        try:
            return len(self.sampler)
        except TypeError:
            return None

    def resize(self, batch_size):
        """The next batch drawn has this many samples. Raises ValueError below 1."""
        if int(batch_size) < 1:
            raise ValueError(f"batch_size {batch_size}: give at least 1")
        self.batch_size = int(batch_size)

    def __iter__(self):
        self.drawn = collections.deque()
        self._drawn_batches = 0
        self._left = self.samples_per_epoch
        return self._draw(iter(self.sampler), self.drawn)

    def _draw(self, indices, drawn):
        while True:
            size = self.batch_size
            batch = list(itertools.islice(indices, size))
            if len(batch) < size and (self.drop_last or not batch):
                break
            drawn.append((size, len(batch)))
            if drawn is self.drawn:
                self._drawn_batches += 1
                if self._left is not None:
                    self._left -= len(batch)
            yield batch
        if drawn is self.drawn:
            self._left = None

    def __len__(self):
        """Batches in the epoch under way if the size stays as it is now; between epochs, in the next."""
        left = len(self.sampler) if self._left is None else self._left
        before = 0 if self._left is None else self._drawn_batches
        more = left // self.batch_size if self.drop_last else -(-left // self.batch_size)
        return before + more


class _OfBatchSampler:
    """An attribute that the loader's batch sampler has. What DataLoader sets beside one of those, a sampler that
    it makes and no batch size, stands for nothing."""

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, loader, owner=None):
        return self if loader is None else getattr(loader.batch_sampler, self._name)

    def __set__(self, loader, value):
        pass


class ResizableLoader(DataLoader):
    """A DataLoader that has the sampler and drop_last that it was given, and the batch size of now."""

    sampler = _OfBatchSampler()
    batch_size = _OfBatchSampler()
    drop_last = _OfBatchSampler()


def resizable_loader(
    dataset, batch_size=1, shuffle=False, sampler=None, drop_last=False, generator=None, **options
):
    """A DataLoader as PyTorch makes it, whose batch size Client.batches can change in mid-epoch.

    Takes DataLoader's own options but batch_sampler; the dataset has a length. Raises ValueError for an
    IterableDataset, and for options that exclude each other.
    """
    if isinstance(dataset, IterableDataset):
        raise ValueError(
            f"dataset {type(dataset).__name__}: it has no places to group into batches; give one with a length, or group "
            "its samples in the training loop, by Client.wanted_batch_size"
        )
    if sampler is None:
        sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
    elif shuffle:
        raise ValueError("shuffle and sampler exclude each other: the sampler gives the order")
    batch_sampler = ResizableBatchSampler(sampler, batch_size, drop_last)
    return ResizableLoader(dataset, batch_sampler=batch_sampler, generator=generator, **options)
