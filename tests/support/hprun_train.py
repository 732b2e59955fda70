"""A training that goes wrong as it is told: PyTorch's DistributedDataParallel over gloo on the CPU.

    hprun_train.py CHECKPOINT STEPS [WHAT RANK STEP]

WHAT happens once, on that rank after that step, in the first start that comes to it: hang, spike (of the loss it prints), slow, memory (the
text of PyTorch's error and a wait), crash (an exception), bug (the same in every start), kill (SIGKILL to itself). The loss after the last
step is the same to the bit however often it was broken off.
"""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../agents/launcher/python"))
import hprun

PAUSE_SECONDS = 0.05
path, steps = sys.argv[1], int(sys.argv[2])
what, at_rank, at_step = (sys.argv[3], int(sys.argv[4]), int(sys.argv[5])) if len(sys.argv) > 3 else (None, -1, -1)


def batch(step, rank):
    draw = torch.Generator().manual_seed(step * 1000 + rank)
    x = torch.randn(16, 8, generator=draw)
    return x, torch.sin(x.sum(dim=1, keepdim=True))


def once():
    if what == "bug":
        return True
    try:
        os.close(os.open(path + ".happened", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def go_wrong(step, rank):
    if what is None or rank != at_rank or step < at_step or not (what in ("spike", "slow") or step == at_step):
        return 1.0
    if what in ("spike", "slow"):  # in the first start only
        return 1000.0 if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" else 1.0
    if not once():
        return 1.0
    if what == "hang":
        time.sleep(3600)
    if what == "memory":
        print("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", file=sys.stderr, flush=True)
        time.sleep(3600)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("a bug of the application")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    begin = 0
    if os.path.exists(path):
        kept = torch.load(path)
        begin = kept["step"]
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
    dist.barrier()
    print(f"Train Epoch 0: rank {rank} of {ranks} from step {begin}", flush=True)
    for step in range(begin + 1, steps + 1):
        if hprun.elastic_event_detected():
            print(f"rank {rank} leaves at step {step}", flush=True)
            break
        x, wanted = batch(step, rank)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        loss = loss.detach()
        dist.all_reduce(loss)
        wrong = go_wrong(step, rank)
        print(f"step {step} training_loss_step {loss.item() / ranks * (wrong if what != 'slow' else 1):.6f} at {100.0 / (wrong if what == 'slow' else 1)} TFLOPs", flush=True)
        if rank == 0 and step % 5 == 0:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path + ".next")
            os.replace(path + ".next", path)
        hprun.heartbeat(step=step, loss=loss.item() / ranks, checkpoint=path if step >= 5 else None)
        time.sleep(PAUSE_SECONDS)
    if rank == 0 and step == steps:
        print(f"trained: loss {(loss.item() / ranks).hex()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
