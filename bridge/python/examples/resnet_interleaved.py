#!/usr/bin/env python3
"""Trains one ResNet-18 and serves another on a GPU, requests before training; or one of the two.

The images are random numbers, so that nothing has to be fetched: what is shown is time and power, and nothing is learned.
On a GPU the arithmetic is bfloat16 under autocast. Requests arrive as in lenet_interleaved.py.

PyTorch has one thread on the processor. By itself it takes one for each core, to stack four images too; one that has gone to
sleep is 20 ms late at times, and so is each request that waits.

    python3 resnet_interleaved.py --only train --duration 60       # gearshift chooses the batch size
    python3 resnet_interleaved.py --duration 60 --rate 400 --latency-ms 50
    python3 resnet_interleaved.py --device cpu --pixels 32 --train-batch-size 8 --duration 10
"""

import lenet_interleaved  # beside this file; it finds the package where it is not installed
import torch
from lenet_interleaved import Work
from torch import nn

CLASSES = 1000
IMAGES_KEPT = 256  # different ones that are asked about
SAMPLES_PER_EPOCH = 1_281_167  # ImageNet's


class Block(nn.Module):
    """Two 3x3 convolutions and what goes round them."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.around = nn.Identity()
        if stride != 1 or before != after:
            self.around = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, images):
        return torch.relu(self.body(images) + self.around(images))


def resnet18():
    """He and others, Deep Residual Learning for Image Recognition, 2016: table 1."""
    blocks, before = [], 64
    for after, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(before, after, stride), Block(after, after, 1)]
        before = after
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES),
    )  # fmt: skip


def autocast(device):
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def model_on(device):
    return resnet18().to(device, memory_format=torch.channels_last)


def training(chosen, device):
    """A function that runs one training minibatch of so many samples."""
    model, criterion = model_on(device), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    most = max(chosen.train_batch_sizes)
    images = torch.randn(most, 3, chosen.pixels, chosen.pixels, device=device)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, (most,), device=device)

    def train(size):
        optimizer.zero_grad(set_to_none=True)
        with autocast(device):
            loss = criterion(model(images[:size]), labels[:size])
        loss.backward()
        optimizer.step()

    for size in chosen.train_batch_sizes * 2:  # the first takes longer
        train(size)
    return train


def serving(chosen, device, images):
    """A function that tells what is on each of a list of images of bytes.

    A GPU makes each shape ready when it is first run, which takes as long as many minibatches. So it is given the sizes that
    gearshift chooses from and no others, each once before the first request: a list between two of them is filled up.
    """
    model = model_on(device).eval()
    sizes = chosen.batch_sizes

    def answer(wanted):
        count = len(wanted)
        size = min((size for size in sizes if size >= count), default=count)
        batch = torch.stack(wanted + wanted[-1:] * (size - count)).to(device)
        batch = batch.to(memory_format=torch.channels_last)
        with torch.inference_mode(), autocast(device):
            return model(batch.float() / 255).argmax(1).tolist()[:count]

    for size in sizes * 2:
        answer((images * size)[:size])
    return answer


def options():
    parser = lenet_interleaved.parser_of(
        "Trains one ResNet-18 and serves another, interleaved on a GPU.",
        "resnet_interleaved.py --duration 60 --rate 400 --latency-ms 50 --json",
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--pixels", type=int, default=224, help="width and height of an image")
    parser.add_argument(
        "--train-batch-sizes", default="16,32,64,128,256,512",
        help="what gearshift may choose from with --only train",
    )  # fmt: skip
    parser.set_defaults(name="resnet18", train_batch_size=64)
    chosen = lenet_interleaved.chosen_by(parser)
    chosen.train_batch_sizes = sorted(
        {chosen.train_batch_size, *map(int, chosen.train_batch_sizes.split(","))}
    )
    if chosen.only != "train":
        chosen.train_batch_sizes = [chosen.train_batch_size]
    return chosen


def main():
    chosen = options()
    device = torch.device(chosen.device)
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    images = list(
        torch.randint(256, (IMAGES_KEPT, 3, chosen.pixels, chosen.pixels), dtype=torch.uint8)
    )
    lenet_interleaved.run(
        chosen,
        Work(
            train=None if chosen.only == "serve" else training(chosen, device),
            answer=None if chosen.only == "train" else serving(chosen, device, images),
            images=images,
            samples_per_epoch=SAMPLES_PER_EPOCH,
            synchronize=torch.cuda.synchronize if device.type == "cuda" else None,
        ),
    )


if __name__ == "__main__":
    main()
