#!/usr/bin/env python3
"""What the README says of training with a changing batch size: its code runs, and learns what it should."""

import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

from client_test import SIZES, ClientTest  # skips where a package is missing
from readme_code import readme_code

try:
    import torch

    import gearshift.torch
except ImportError:
    torch = None

EPOCHS = 2
SAMPLES = 640


@unittest.skipUnless(torch, "needs python3-torch")
class Training(ClientTest):
    def run_code(self, part):
        """Runs it while a daemon asks for one size after the other; returns its names, the batch sizes, and the
        rate of each step."""
        daemon, client = self.attached()
        link = client._connection
        model = torch.nn.Linear(4, 1)
        data = torch.utils.data.TensorDataset(torch.randn(SAMPLES, 4), torch.randn(SAMPLES, 1))
        rates = []

        class Optimizer(torch.optim.SGD):
            def step(self, closure=None):
                rates.append(self.param_groups[0]["lr"])
                return super().step(closure)

        sizes = []

        class Client:
            """Of which each batch comes with another wish."""

            @staticmethod
            def batches(loader, epoch):
                for batch in client.batches(loader, epoch):
                    sizes.append(len(batch[0]))
                    yield batch
                    number = len(sizes)
                    daemon.set(number, SIZES[number % 4])
                    self.until(lambda: link.asked.number == number, link.service_if_free)

        names = {
            "math": math, "torch": torch, "client": Client, "dataset": data, "epochs": EPOCHS, "epoch": 0,
            "loader": gearshift.torch.resizable_loader(data, 16, shuffle=True), "model": model,
            "optimizer": Optimizer(model.parameters(), lr=0.01), "criterion": torch.nn.functional.mse_loss,
        }  # fmt: skip
        exec(readme_code(part), names)
        self.assertEqual(set(sizes) & set(SIZES), set(SIZES))
        return names, sizes, rates

    def test_a_rate_follows_the_samples_seen_and_the_batch(self):
        _, sizes, rates = self.run_code("half a cosine")
        self.assertEqual((len(rates), sum(sizes)), (len(sizes), EPOCHS * SAMPLES))
        seen = 0
        for size, rate in zip(sizes, rates):
            expected = 0.1 * size / 16 * (1 + math.cos(math.pi * seen / (EPOCHS * SAMPLES))) / 2
            self.assertAlmostEqual(rate, expected)
            seen += size

    def test_a_schedule_of_pytorch_ends_with_the_samples(self):
        names, sizes, rates = self.run_code("OneCycleLR")
        self.assertNotEqual(len(sizes), 2 * math.ceil(SAMPLES / 16), "sizes varied, and with them the steps")
        self.assertEqual(names["schedule"].last_epoch, names["STEPS"])
        self.assertGreater(max(rates), 0.09)
        self.assertLess(names["schedule"].get_last_lr()[0], 0.001)

    def test_accumulated_gradients_are_the_mean_over_their_samples(self):
        model = torch.nn.Linear(4, 1)
        data = [(torch.randn(size, 4), torch.randn(size, 1)) for size in (16, 8, 64)]
        taken = []

        class Optimizer(torch.optim.SGD):
            def step(self, closure=None):
                taken.append(model.weight.grad.clone())

        optimizer = Optimizer(model.parameters(), lr=0.01)
        client, loader = self.attach(), data
        names = {"client": client, "loader": loader, "epoch": 0, "model": model, "optimizer": optimizer,
                 "criterion": torch.nn.functional.mse_loss}  # fmt: skip
        exec(readme_code("pending += len(images)"), names)
        optimizer.zero_grad()
        images, labels = (torch.cat(part) for part in zip(*data))
        torch.nn.functional.mse_loss(model(images), labels).backward()
        self.assertEqual(len(taken), 1)
        torch.testing.assert_close(taken[0], model.weight.grad)


if __name__ == "__main__":
    unittest.main(verbosity=2)
