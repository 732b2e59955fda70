"""DistributedDataParallel that can be stopped at any step and goes on with any number of ranks.

    hprun --nproc-per-node 4 --max-restarts 3 --log-rules log-rules.yaml train_ddp.py CHECKPOINT STEPS

What makes it so:
  - The data of a step follow from the number of the step, and ranks share them: as many samples a step with 2 ranks as with 4.
  - A checkpoint has all that a step leaves behind, is written beside the old one, and takes its place at once.
  - Asked to leave (SIGUSR1, or SIGTERM before the end of a job), all ranks save at the same step and end with exit code 0.
  - Each step is a line that rules can watch, and a heartbeat that says which checkpoint a new start would load.

hprun.py is in share/holdfast/python of the installation: PYTHONPATH has to name that directory.
"""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import hprun

SAMPLES_A_STEP = 48  # divides by 1, 2, 3, 4, 6, 8, 12 ranks
CHECKPOINT_EVERY = 10


def samples(step, rank, ranks):
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(SAMPLES_A_STEP, 8, generator=draw, dtype=torch.float64)[rank::ranks]
    return x, torch.sin(x.sum(dim=1, keepdim=True))


def save(path, step, model, optimizer):
    with open(path + ".next", "wb") as file:
        torch.save({"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".next", path)  # a crash leaves the old one or the new one


def load(path, model, optimizer):
    if not os.path.exists(path):
        return 0
    kept = torch.load(path, map_location="cpu")
    model.module.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    return kept["step"]


def main():
    path, steps = sys.argv[1], int(sys.argv[2])
    hprun.also_on(signal.SIGTERM)
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).double().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    begin = load(path, model, optimizer)
    dist.barrier()  # nobody writes before all have read
    print(f"rank {rank} of {ranks} goes on behind step {begin}", flush=True)
    kept = begin
    for step in range(begin + 1, steps + 1):
        x, wanted = (part.to(device) for part in samples(step, rank, ranks))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        shown = loss.detach()
        dist.all_reduce(shown)
        shown = shown.item() / ranks
        print(f"[step {step}] loss {shown:.12f}", flush=True)
        leaves = hprun.elastic_event_detected()
        if leaves or step % CHECKPOINT_EVERY == 0:
            if rank == 0:
                save(path, step, model, optimizer)
            kept = step
        hprun.heartbeat(step=step, loss=shown, checkpoint=f"{path}@{kept}" if kept else None)
        if leaves:
            print(f"rank {rank} saved and leaves behind step {step}", flush=True)
            break
    else:
        print("training is over", flush=True)
    dist.barrier()  # the checkpoint is written
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
