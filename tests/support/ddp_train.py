"""A training in small: PyTorch's DistributedDataParallel over gloo, as many ranks as torchrun starts, on the CPU.

    ddp_train.py CHECKPOINT STEPS

After HOLD_AT steps it waits for as long as there is a file CHECKPOINT.hold: who breaks a node has all the time that takes.
Each step's data is made of its number and the rank, all arithmetic is one thread's, and momentum and all that a step leaves behind
is in the checkpoint: so the loss after the last step is the same to the bit, however often the training was broken off.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT_EVERY = 5
BATCH, INPUTS, HIDDEN = 32, 16, 32
HOLD_AT, PAUSE_SECONDS = 40, 0.1

path, steps = sys.argv[1], int(sys.argv[2])


def batch(step, rank):
    draw = torch.Generator().manual_seed(step * 1000 + rank)
    x = torch.randn(BATCH, INPUTS, generator=draw)
    return x, torch.sin(x.sum(dim=1, keepdim=True))


def save(step, model, optimizer):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path + ".next")
    os.replace(path + ".next", path)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(7)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    begin = 0
    if os.path.exists(path):
        kept = torch.load(path)
        begin = kept["step"]
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
    dist.barrier()  # nobody writes before all have read
    if rank == 0:
        attempt = os.environ.get("HOLDFAST_AUTO_RESUME_ATTEMPT", "-")
        print(f"attempt {attempt}: {ranks} ranks from step {begin}", flush=True)
    for step in range(begin + 1, steps + 1):
        x, wanted = batch(step, rank)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        loss = loss.detach()
        dist.all_reduce(loss)
        if rank == 0:
            print(f"step {step} loss {(loss.item() / ranks).hex()}", flush=True)
            if step % CHECKPOINT_EVERY == 0:
                save(step, model, optimizer)
        time.sleep(PAUSE_SECONDS)
        while step == HOLD_AT and os.path.exists(path + ".hold"):
            time.sleep(PAUSE_SECONDS)
    if rank == 0:
        print(f"trained: loss {(loss.item() / ranks).hex()}", flush=True)
    dist.destroy_process_group()


main()
