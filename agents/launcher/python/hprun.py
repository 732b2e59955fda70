"""What a training script may say to hprun, and hear from it. Nothing here is needed to be started by hprun.

    import hprun

    for step, batch in enumerate(loader):
        if hprun.elastic_event_detected():   # on every rank, every step
            save_checkpoint()
            break                            # and end with exit code 0
        ...
        hprun.heartbeat(step=step, loss=loss, checkpoint=path_of_the_last_one)

elastic_event_detected() is True on all ranks at the same step once any rank was asked to leave (SIGUSR1). It is a collective call while
torch.distributed is initialized, so every rank has to call it equally often. HYPERPOD_SIGNAL_COORDINATION=disabled asks the own process only;
unlike in HyperPod's own module, coordination is on unless it is disabled, and a signal is never ignored. also_on(signal.SIGTERM) makes
SIGTERM ask for the same, so that a job that is ended has its time for an emergency checkpoint.

heartbeat() never blocks and never raises: where there is no hprun, or it is busy, nothing is sent.
"""
import json
import os
import signal
import socket
import struct
import threading

__all__ = ["also_on", "elastic_event_detected", "heartbeat", "report_fault"]

_asked = False
_lock = threading.Lock()
_connection = None
_pid = None


def _on_signal(_number, _frame):
    global _asked
    _asked = True


if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGUSR1, _on_signal)


def also_on(number):
    """Makes another signal ask for the same as SIGUSR1. From the main thread."""
    signal.signal(number, _on_signal)


def _all_ranks(asked):
    import torch
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return asked
    on_gpu = dist.get_backend() == "nccl"
    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
    flag = torch.tensor([1 if asked else 0], dtype=torch.int32, device=device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return flag.item() > 0


def elastic_event_detected():
    """True when this job shall save a checkpoint and leave."""
    if os.environ.get("HYPERPOD_SIGNAL_COORDINATION", "distributed").lower() == "disabled":
        return _asked
    try:
        return _all_ranks(_asked)
    except ImportError:
        return _asked


def _connect():
    global _connection, _pid
    path = os.environ.get("HYPERPOD_ELASTICAGENT_SOCKET_SERVER_PATH")
    if _connection is not None and _pid == os.getpid():
        return _connection
    if not path:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    connection.connect(path)
    _connection, _pid = connection, os.getpid()
    _send_on(connection, {"type": "init"})
    return connection


def _send_on(connection, message):
    global _connection
    message = {"local_rank": int(os.environ.get("LOCAL_RANK", "0")), "client_id": f"hprun-{os.getpid()}", **message}
    data = json.dumps(message).encode()
    data = struct.pack("!I", len(data)) + data
    if connection.send(data) != len(data):  # half a message: this connection is of no use any more
        connection.close()
        _connection = None


def _send(message):
    global _connection
    with _lock:
        try:
            connection = _connect()
            if connection is not None:
                _send_on(connection, message)
        except BlockingIOError:
            pass
        except OSError:
            _connection = None


def heartbeat(step=None, loss=None, checkpoint=None):
    """Says how far this rank is; the last checkpoint is the path that a new start would load."""
    message = {"type": "heartbeat"}
    if step is not None:
        message["step"] = int(step)
    if loss is not None:
        value = float(loss)
        message["loss"] = value if value - value == 0 else str(value)  # JSON has no NaN
    if checkpoint is not None:
        message["checkpoint"] = str(checkpoint)
    _send(message)


def report_fault(reason, message=""):
    """Asks for a restart: this rank knows that it cannot go on."""
    _send({"type": "job_fault", "rank": int(os.environ.get("RANK", "0")), "reason": str(reason), "message": str(message)})
