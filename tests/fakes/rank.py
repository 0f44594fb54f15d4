"""One of two ranks that train a small network together, as torchrun would start it.

Arguments: its number, a folder for both, the daemon's endpoint, `agree` for the function that the README shows (or an empty
word), and where the virtual board is. Ends once the folder has a file `over`, with a JSON line: the sizes of each epoch's
batches.
"""

import datetime
import json
import logging
import os
import pathlib
import sys
import time

import torch
from client_test import SIZES
from readme_code import readme_code

import gearshift
import gearshift.torch

MINIBATCH_S = 0.02


def main():
    rank, folder, endpoint, how, mount = int(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:6]
    logging.basicConfig(format=f"rank {rank}: %(message)s")
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", f"file://{folder}/ranks", datetime.timedelta(seconds=60), world_size=2, rank=rank
    )
    data = torch.utils.data.TensorDataset(torch.randn(2048, 10), torch.randn(2048, 1))
    sampler = torch.utils.data.DistributedSampler(data)
    loader = gearshift.torch.resizable_loader(data, batch_size=16, sampler=sampler)
    client = gearshift.attach("ranks", batch_size=16, batch_sizes=SIZES, endpoint=endpoint)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    names = {"torch": torch, "client": client, "loader": loader}
    exec(readme_code("def agree(").split("\n\n")[0], names)
    options = {"agree": names["agree"]} if how == "agree" else {}
    load = os.open(f"{mount}/.virtual/load", os.O_WRONLY) if not rank else None
    sizes, over, epoch = [], torch.tensor(0), 0
    while not over:
        sampler.set_epoch(epoch)
        sizes.append([])
        for values, wanted in client.batches(loader, epoch, **options):
            if load is not None:
                os.write(load, f"pid={os.getpid()} name=resnet18 kind=train batch_size={len(values)} run=1\n".encode())
            optimizer.zero_grad()
            ((model(values) - wanted) ** 2).mean().backward()
            optimizer.step()
            sizes[-1].append(len(values))
            time.sleep(MINIBATCH_S)
        over = torch.tensor(int((folder / "over").exists()))
        torch.distributed.all_reduce(over)
        epoch += 1
    client.close()
    print(json.dumps(sizes), flush=True)


if __name__ == "__main__":
    main()
