#!/usr/bin/env python3
"""A process that trains and serves, and two that take turns, under a real daemon that also dies."""

import random
import signal
import sys
import threading
import time
import unittest

import harness

sys.path.insert(0, str(harness.SOURCE / "bridge" / "python"))
try:
    import gearshift
except ImportError as missing:
    harness.skip_all(f"{missing}; apt-get install python3-zmq python3-msgpack")

# Holds the safe setting.
POLICY = "return nil\n"


def spin(milliseconds):
    end = time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < end:
        pass


class Live(unittest.TestCase):
    def interleaver(self, stack):
        made = gearshift.Interleaver(
            train=lambda: spin(3),
            infer=lambda requests: (spin(1), requests)[1],
            latency_ms=300,
            name="spin",
            batch_size=2,
            batch_sizes=[1, 2, 4],
            endpoint=stack.endpoint,
        )
        self.addCleanup(made.close)
        return made

    def serve(self, interleaver, ends):
        """Poisson requests from a thread until `ends` is set; returns what became of them."""
        choose, futures = random.Random(7), []

        def arrive():
            while not ends.is_set():
                futures.append(interleaver.submit(len(futures)))
                ends.wait(choose.expovariate(100))

        thread = threading.Thread(target=arrive)
        thread.start()
        self.addCleanup(thread.join, harness.DEADLINE_S)
        self.addCleanup(ends.set)
        return futures

    def until(self, interleaver, condition):
        end = time.monotonic() + harness.DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), end, "the deadline passed")
            interleaver.run(0.05)

    def test_is_two_workloads_to_a_daemon_and_outlives_it(self):
        with harness.Stack() as stack:
            recording = stack.folder / "run.db"
            daemon = stack.daemon(stack.script(POLICY), "--record", recording)
            interleaver, ends = self.interleaver(stack), threading.Event()
            futures = self.serve(interleaver, ends)
            server, trainer = interleaver._server, interleaver._trainer
            self.until(interleaver, lambda: server.managed and trainer.managed)
            trained = interleaver.train_minibatches
            self.until(interleaver, lambda: interleaver.train_minibatches > trained + 900)
            daemon.process.send_signal(signal.SIGTERM)
            self.until(interleaver, lambda: not server.attached and not trainer.attached)
            trained, served = interleaver.train_minibatches, interleaver.infer_minibatches
            self.until(interleaver, lambda: interleaver.train_minibatches > trained + 50)
            self.assertGreater(interleaver.infer_minibatches, served)
            ends.set()
            self.until(interleaver, lambda: interleaver.queued == 0)
            daemon.process.wait(harness.DEADLINE_S)
            rows = self.rows(recording, "SELECT arrived, served, late, refused FROM requests")
            kinds = self.rows(recording, "SELECT kind, latency_ns FROM workloads ORDER BY kind")
            minibatches = self.rows(recording, "SELECT kind, count(*) FROM minibatches GROUP BY kind")
        self.assertEqual(kinds, [("infer", 300 * 10**6), ("train", 0)])
        self.assertEqual([kind for kind, count in minibatches if count > 10], ["infer", "train"])
        self.assertGreater(sum(row[0] for row in rows), 50)
        self.assertGreater(sum(row[1] for row in rows), 50)
        done = [future for future in futures if future.done()]
        answered = [future.result() for future in done if future.exception() is None]
        self.assertGreater(len(answered), 100)
        self.assertEqual(answered, sorted(set(answered)))

    def test_the_daemon_hears_of_all_requests_of_one_that_is_closed_soon_after_them(self):
        with harness.Stack() as stack:
            daemon = stack.daemon(stack.script(POLICY))
            interleaver = self.interleaver(stack)
            self.until(interleaver, lambda: interleaver._server.managed)
            futures = [interleaver.submit(number) for number in range(31)]
            self.until(interleaver, lambda: all(future.done() for future in futures))
            interleaver.close()
            daemon.note("detached")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            requests = daemon.summary()["requests"]
        self.assertEqual(requests["arrived"], 31)
        self.assertEqual(requests["served"] + requests["refused"], 31)

    @staticmethod
    def rows(file, sql):
        import sqlite3

        database = sqlite3.connect(file)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def test_two_programs_take_turns_through_the_daemon(self):
        with harness.Stack() as stack:
            daemon = stack.daemon(stack.script(POLICY))
            clients = {
                kind: gearshift.attach(f"spin-{kind}", kind, endpoint=stack.endpoint)
                for kind in ("train", "infer")
            }
            for client in clients.values():
                self.addCleanup(client.close)
            end = time.monotonic() + harness.DEADLINE_S
            while not all(client.attached for client in clients.values()):
                self.assertLess(time.monotonic(), end, "the deadline passed")
                time.sleep(0.01)
            holders, order, overlaps = set(), [], []

            def work(kind, count):
                for _ in range(count):
                    with clients[kind].turn(), clients[kind].minibatch():
                        overlaps.append(len(holders))
                        holders.add(kind)
                        time.sleep(0.001)
                        order.append(kind)
                        holders.discard(kind)

            threads = [threading.Thread(target=work, args=(kind, 100)) for kind in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(harness.DEADLINE_S)
            self.assertEqual((order.count("train"), order.count("infer")), (100, 100))
            self.assertEqual(set(overlaps), {0})
            switches = sum(one != other for one, other in zip(order, order[1:]))
            self.assertGreater(switches, 20)
            # Who dies with a turn in its hand does not keep it.
            held = clients["train"].turn().__enter__()
            self.assertGreater(held._number, 0)
            clients["train"].close()
            with clients["infer"].turn() as turn:
                self.assertGreater(turn._number, 0)
            daemon.kill()
            began = time.monotonic()
            with clients["infer"].turn() as turn:  # nobody gives one: it runs all the same
                self.assertEqual(turn._number, 0)
            self.assertLess(time.monotonic() - began, harness.DEADLINE_S)


if __name__ == "__main__":
    unittest.main(verbosity=2)
