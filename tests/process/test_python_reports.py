#!/usr/bin/env python3
"""What the Python client reports, and a live PyTorch loader that changes its batch size."""

import itertools
import logging
import pathlib
import pickle
import random
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import LOADER, ROOT, SIZES, ClientTest  # skips where a package is missing
from pretended_time import PretendedClock

import gearshift
from gearshift import connection, outbox, wire

try:
    import torch

    import gearshift.torch
except ImportError:
    torch = None


class Reporting(PretendedClock):
    def work(self, milliseconds):
        self.now += milliseconds * 10**6

    @staticmethod
    def times(report):
        return [report[f"{name}_ns"] // 10**6 for name in ("elapsed", "fetch_stall", "compute")]

    def test_durations_are_those_of_the_papers(self):
        daemon, client = self.attached()

        def loader():
            for stall in (5, 1):
                self.work(stall)
                yield [0] * 16

        for _ in range(2):
            for _ in client.batches(loader()):
                self.work(20)
            self.work(1000)  # what is between two epochs counts in none
        self.work(7)
        with client.minibatch(epoch=1, batch_size=16):
            self.work(20)
        self.work(3)
        with client.minibatch(epoch=1) as minibatch:
            self.work(2)
            minibatch.fetched(batch_size=8)
            self.work(20)
        reports = [daemon.expect("minibatch") for _ in range(6)]
        self.assertEqual(
            [self.times(report) for report in reports],
            [[25, 5, 20], [21, 1, 20], [25, 5, 20], [21, 1, 20], [20, 0, 20], [25, 5, 20]],
        )
        self.assertEqual([report["epoch"] for report in reports], [0, 0, 1, 1, 1, 1])
        self.assertEqual(reports[5]["batch_size"], 8)

    def test_waiting_for_a_turn_is_in_no_minibatch(self):
        daemon, client = self.attached(save=lambda: self.work(500))
        link = client._connection
        with mock.patch.object(link, "take_turn", lambda gives_up: self.work(100) or 0):
            self.work(1)
            with client.minibatch(epoch=0):
                self.work(20)
            self.work(3)
            with client.turn(), client.minibatch(epoch=0) as minibatch:
                self.work(2)
                minibatch.fetched(batch_size=16)
                self.work(20)
            for _ in client.batches([[0] * 16], epoch=1):
                with client.turn():
                    self.work(7)
            with client.minibatch(epoch=2):
                self.work(20)
            self.work(3)
            daemon.send("checkpoint", checkpoint=1, within_ns=30 * 10**9)
            self.until(lambda: link.checkpoint_waits, link.service_if_free)
            with client.turn() as turn, client.minibatch(epoch=2):  # the save comes before the turn
                self.work(20)
        self.assertEqual(turn.waited_ns, 600 * 10**6)
        reports = [daemon.expect("minibatch") for _ in range(5)]
        self.assertEqual(
            [self.times(report) for report in reports],
            [[20, 0, 20], [25, 5, 20], [7, 0, 7], [20, 0, 20], [23, 3, 20]],
        )

    def test_a_server_does_not_count_waiting_for_requests(self):
        daemon, client = self.attached(kind="infer")
        for _ in range(2):
            self.work(500)
            with client.minibatch():
                self.work(4)
            self.assertEqual(self.times(daemon.expect("minibatch")), [4, 0, 4])

    def test_what_becomes_of_requests(self):
        daemon = self.daemon()
        client = self.attach(kind="infer", latency_ms=100)
        self.assertEqual(daemon.attach()["latency_ns"], 10**8)
        self.until(lambda: client.attached)
        log = gearshift.RequestLog(10**8, 0)
        client.report_requests(log.take_due(1, 0))  # nothing is due
        for latency_ms in range(1, 102):
            log.arrived()
            log.answered(latency_ms * 10**6)
        log.refused()
        client.report_requests(log.take_due(10**8, 3))
        self.assertEqual(
            daemon.expect("requests"),
            {
                "type": "requests", "sequence": 1, "set": 0, "span_ns": 10**8,
                "arrived": 101, "served": 101, "late": 2, "refused": 1, "queued": 3,
                "latency_p50_ns": 51 * 10**6, "latency_p95_ns": 96 * 10**6,
                "latency_p99_ns": 100 * 10**6, "latency_max_ns": 101 * 10**6,
            },
        )
        daemon.set(4, 32)
        daemon.expect("applied", lambda: self.step(client, batch_size=32), set=4)
        log.answered(2 * wire.MAX_ELAPSED_NS)
        client.report_requests(log.take_due(2 * wire.MAX_ELAPSED_NS, 0))
        report = daemon.expect("requests")
        self.assertEqual([report["sequence"], report["set"]], [2, 4])
        for field in ("span_ns", "latency_p50_ns", "latency_max_ns"):  # more would be a fault
            self.assertEqual(report[field], wire.MAX_ELAPSED_NS)

    def test_when_requests_are_told_of(self):
        log = gearshift.RequestLog(10**8, 0)
        told = []
        for now_ms in range(1, 3001):
            if now_ms < 2000:
                log.arrived()
                log.answered(10**6)
            if log.take_due(now_ms * 10**6, 0):
                told.append(now_ms)
        self.assertEqual(told, [500, 1000, 1500, 2000, 2500])  # the last one: there are no more
        log.refused()
        self.assertEqual(log.next_due_ns(), 3100 * 10**6)
        self.assertIsNone(log.take_due(3099 * 10**6, 0))
        self.assertEqual(log.take_due(3100 * 10**6, 0)["late"], 1)

    def test_a_minibatch_that_fails_or_takes_over_an_hour_is_not_reported(self):
        daemon, client = self.attached()
        with self.assertRaises(ZeroDivisionError), client.minibatch():
            1 / 0
        for milliseconds in (3600 * 1000 + 1, 3600 * 1000):
            with client.minibatch(epoch=milliseconds):
                self.work(milliseconds)
        self.assertEqual(daemon.expect("minibatch")["elapsed_ns"], wire.MAX_ELAPSED_NS)
        self.assertEqual(sum(m["type"] == "minibatch" for m in daemon.received), 1)

    def test_nonsense_of_the_program_is_told_once_and_raises_nothing(self):
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            client = self.attach(synchronize=lambda: 1 / 0)
            for _ in range(5):
                self.step(client, epoch="two", batch_size="many")
                self.assertEqual(list(client.batches(LOADER, epoch=object())), LOADER)
        self.assertEqual(len(logs.output), len(set(logs.output)))

    def test_reports_never_wait_for_the_other_thread(self):
        daemon, client = self.attached()
        link = client._connection
        with link._lock:  # as if that thread were stopped in the middle of its work
            for _ in range(outbox.MOST_MESSAGES + 7):
                self.step(client)
            self.assertEqual(len(link._outbox), outbox.MOST_MESSAGES)
        self.assertEqual(client.dropped_reports, 7)
        self.assertEqual(daemon.expect("minibatch")["sequence"], 1)
        daemon.expect("minibatch", sequence=outbox.MOST_MESSAGES)

    def test_no_more_minibatches_are_reported_than_a_daemon_takes(self):
        budget = connection.ReportBudget()
        now_ns = 5 * 10**9
        self.assertEqual(sum(budget.take(now_ns) for _ in range(1000)), 257)
        later = sum(budget.take(now_ns + number * 10**5) for number in range(1, 100001))
        self.assertAlmostEqual(later, 15000, delta=2)
        daemon, client = self.attached()
        many = 4000
        for _ in range(many):
            self.step(client)
        self.assertGreater(client.dropped_reports, 0)
        client._connection.answer_checkpoint(wire.Checkpoint(client._connection.attachment, 1), 1)
        daemon.expect("saved", client._connection.service_if_free)
        reports = sum(message["type"] == "minibatch" for message in daemon.received)
        self.assertEqual(reports, many - client.dropped_reports)

    def test_the_bytes_are_those_that_the_protocol_shows(self):
        _, client = self.attached()
        link = client._connection
        link._sequence = 2
        text = (ROOT / "bridge" / "PROTOCOL.md").read_text()
        dump = lambda start: bytes.fromhex(  # noqa: E731
            start + text.split(start, 1)[1].split("```")[0].replace("\n", " ")
        )
        with link._lock:
            link.report(wire.Command(link.attachment, 1, 32, "both"), 0, 32, 8400000, 210000, 8000000)
            self.assertEqual(link._outbox.newest, dump("88 a4 74 79"))
            link._request_sequence = 1
            link.in_force = wire.Command(link.attachment, 1, 4, "both")
            link.report_requests(
                {
                    "span_ns": 500000000, "arrived": 31, "served": 30, "late": 1, "refused": 0,
                    "queued": 3, "latency_p50_ns": 41000000, "latency_p95_ns": 78000000,
                    "latency_p99_ns": 95000000, "latency_max_ns": 101000000,
                }
            )
            self.assertEqual(link._outbox.newest, dump("8d a4 74 79"))


@unittest.skipUnless(torch, "needs python3-torch")
class LiveLoader(ClientTest):
    def loader(self, samples=200, **options):
        dataset = torch.utils.data.TensorDataset(torch.arange(samples))
        return gearshift.torch.resizable_loader(dataset, batch_size=16, **options)

    def follow(self, workers):
        """Asks for 8, then 64, in mid-epoch; returns the batches' values and the daemon's record."""
        daemon, client = self.attached()
        batches = []
        for (batch,) in client.batches(self.loader(500, shuffle=True, num_workers=workers)):
            batches.append(batch.tolist())
            if len(batches) in (3, 12):
                daemon.set(len(batches), 8 if len(batches) == 3 else 64)
                self.until(lambda: client._connection.asked.number == len(batches))
        client.close()
        daemon.expect("bye")
        return batches, daemon.received

    def check(self, workers, prefetched):
        batches, received = self.follow(workers)
        self.assertEqual(sorted(sum(batches, [])), list(range(500)))
        sizes = [len(batch) for batch in batches]
        self.assertEqual(sizes[: 4 + prefetched], [16] * (3 + prefetched) + [8])
        told = [m for m in received if m["type"] in ("minibatch", "applied")]
        for before, applied, after in zip(told, told[1:], told[2:]):
            if applied["type"] == "applied":
                self.assertNotEqual(before["set"], applied["set"])
                self.assertEqual(after["batch_size"], applied["batch_size"])
        self.assertEqual([m["set"] for m in told if m["type"] == "applied"], [3, 12])
        reports = [m for m in told if m["type"] == "minibatch"]
        self.assertEqual([m["batch_size"] for m in reports], sizes)
        for report in reports[:-1]:
            self.assertEqual(report["batch_size"], {0: 16, 3: 8, 12: 64}[report["set"]])

    def test_a_wish_is_in_force_from_the_next_minibatch_on(self):
        self.check(workers=0, prefetched=0)

    def test_a_wish_is_in_force_when_the_prefetched_batches_are_used_up(self):
        self.check(workers=1, prefetched=2)

    def test_a_wish_for_more_than_an_epoch_has_is_refused(self):
        for drop_last, sizes in ((False, [16, 16, 16, 2]), (True, [16, 16, 16])):
            with self.subTest(drop_last=drop_last):
                daemon, client = self.attached()
                loader = self.loader(50, drop_last=drop_last)
                daemon.set(1, 64)
                self.until(lambda: client.wanted_batch_size == 64)
                for _ in range(3):
                    self.assertEqual([len(batch) for (batch,) in client.batches(loader)], sizes)
                refused = daemon.expect("refused")
                self.assertEqual((refused["set"], refused["code"]), (1, "batch_size"))
                self.assertEqual(refused["message"], "64: an epoch has 50 samples")
                daemon.set(2, 32)
                self.until(lambda: client.wanted_batch_size == 32)
                self.assertEqual([len(batch) for (batch,) in client.batches(loader)][0], 32)
                daemon.expect("applied", set=2, batch_size=32)
                client.close()
                daemon.die()

    def test_a_loader_keeps_its_size_until_a_daemon_asks_for_one(self):
        client = self.attach(batch_size=8)
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            for _ in range(2):
                batches = [len(batch) for (batch,) in client.batches(self.loader(50))]
                self.assertEqual(batches, [16, 16, 16, 2])
        self.assertEqual(len(logs.output), 1)
        self.assertIn("batches of 16, and attach() was told 8", logs.output[0])
        client.close()
        daemon, client = self.attached(batch_size=8)
        daemon.set(1, 32)
        self.until(lambda: client.wanted_batch_size == 32)
        self.assertEqual([len(batch) for (batch,) in client.batches(self.loader(50))], [32, 18])
        daemon.send("bye")
        self.until(lambda: not client.attached)
        self.assertEqual([len(batch) for (batch,) in client.batches(self.loader(50))], [32, 18])

    def sizes_reported(self, loader, twice_at=3, resize_at=0):
        """Sizes of an epoch's batches, as they were and as they were reported; in mid-epoch another begins."""
        daemon, client = self.attached()
        sizes = []
        for (batch,) in client.batches(loader):
            sizes.append(len(batch))
            if len(sizes) == twice_at:
                next(iter(loader))
            if len(sizes) == resize_at:
                daemon.set(1, 8)
                self.until(lambda: client.wanted_batch_size == 8)
        client.close()
        daemon.expect("bye")
        daemon.die()
        return sizes, [m["batch_size"] for m in daemon.received if m["type"] == "minibatch"]

    def test_a_second_iteration_in_mid_epoch_changes_nothing_that_is_reported(self):
        with self.assertNoLogs("gearshift", logging.WARNING):
            for workers in (0, 1):
                sizes, reported = self.sizes_reported(self.loader(320, num_workers=workers))
                self.assertEqual((sizes, reported), ([16] * 20, [16] * 20))
            sizes, reported = self.sizes_reported(self.loader(320), resize_at=4)
            self.assertEqual((sizes, reported), ([16] * 4 + [8] * 32,) * 2)

    def test_an_iteration_that_another_one_takes_over_is_told(self):
        loader = self.loader(320, num_workers=1, persistent_workers=True)  # which has one iterator for all
        with self.assertLogs("gearshift", logging.WARNING) as logs:
            sizes, reported = self.sizes_reported(loader)
        self.assertEqual(reported, sizes)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("iterated twice at the same time", logs.output[0])

    def test_each_sample_is_seen_once_an_epoch_whatever_the_sizes(self):
        choose = random.Random(5)
        for samples, drop_last in itertools.product((0, 1, 15, 16, 17, 200), (False, True)):
            with self.subTest(samples=samples, drop_last=drop_last):
                loader = self.loader(max(samples, 1), sampler=range(samples), drop_last=drop_last)
                for _ in range(3):
                    seen = []
                    for (batch,) in loader:
                        loader.batch_sampler.resize(choose.choice(SIZES))
                        seen += batch.tolist()
                    self.assertEqual(seen, list(range(len(seen))))
                    lost = samples - len(seen)
                    self.assertTrue(0 <= lost < max(SIZES) if drop_last else lost == 0)

    def test_the_length_follows_the_size(self):
        loader = self.loader(100)
        self.assertEqual(len(loader), 7)
        batches = iter(loader)
        next(batches)
        loader.batch_sampler.resize(8)
        self.assertEqual(len(loader), 1 + 11)
        self.assertEqual(1 + len(list(batches)), 12)
        self.assertEqual(len(loader), 13)

    def test_it_looks_like_one_that_pytorch_makes(self):
        sampler = torch.utils.data.distributed.DistributedSampler(range(200), num_replicas=2, rank=0)
        loader = self.loader(sampler=sampler, drop_last=True)
        self.assertIsInstance(loader, torch.utils.data.DataLoader)
        self.assertIs(loader.sampler, sampler)
        loader.sampler.set_epoch(3)
        self.assertEqual((loader.batch_size, loader.drop_last), (16, True))
        loader.batch_sampler.resize(32)
        self.assertEqual((loader.batch_size, [len(batch) for (batch,) in loader]), (32, [32, 32, 32]))
        with self.assertRaisesRegex(ValueError, "batch_size"):  # PyTorch's own, for any loader
            loader.batch_size = 8
        again = pickle.loads(pickle.dumps(loader))
        self.assertEqual((again.batch_size, len(again.sampler)), (32, 100))

    def test_a_sampler_need_not_know_its_length(self):
        class Endless:  # but for its end
            def __iter__(self):
                return iter(range(100))

        loader = self.loader(sampler=Endless())
        self.assertEqual([len(batch) for (batch,) in loader], [16] * 6 + [4])
        with self.assertRaisesRegex(TypeError, "no len"):  # as PyTorch's own
            len(loader)
        daemon, client = self.attached()
        daemon.set(1, 64)
        self.until(lambda: client._connection.asked.number == 1)
        self.assertEqual([len(batch) for (batch,) in client.batches(loader)], [64, 36])

    def test_samples_without_places_cannot_be_grouped(self):
        class Stream(torch.utils.data.IterableDataset):
            pass

        with self.assertRaisesRegex(ValueError, "^dataset Stream: .*wanted_batch_size"):
            gearshift.torch.resizable_loader(Stream(), 16)

    def test_a_size_below_one_is_refused(self):
        for size in (0, -1):
            with self.assertRaisesRegex(ValueError, f"batch_size {size}"):
                self.loader().batch_sampler.resize(size)


if __name__ == "__main__":
    unittest.main(verbosity=2)
