#!/usr/bin/python3 -B
"""Machines of MAAS, by its command line (maas), which was logged in with `maas login`.

Environment: HOME (where `maas login` keeps its profile), MAAS_PROFILE, MAAS_TAGS (which machines may be taken, as "gpu,h100").
MAAS_AFTER is what becomes of a machine that is taken away: release (the default: MAAS may hand it out again) or
mark-broken (a person looks at it first). MAAS names another executable.

A machine is allocated with Holdfast's id as its agent name, and is looked for by that before another one is allocated.
"""
import base64
import os

from holdfast_provider import Never, NoCapacity, NoSuchMachine, NotNow, cloud_config, run, run_json, serve, setting

MAAS = os.environ.get("MAAS", "maas")
OUTCOMES = (
    (("No available machine matches", "No machine available", "insufficient resources"), NoCapacity),
    (("Not Found", "No Machine matches"), NoSuchMachine),
    (("503", "Connection refused", "timed out", "Temporary failure"), NotNow),
    (("Authorization Error", "Forbidden", "Bad Request", "Not logged in", "invalid choice"), Never),
)
STATES = {"Allocated": "pending", "Deploying": "pending", "Deployed": "running", "Rebooting": "running", "Ready": "gone",
          "Releasing": "gone", "Disk erasing": "gone", "Broken": "gone"}


def maas(*arguments):
    return [MAAS, setting("MAAS_PROFILE"), *arguments]


def find(request):
    found = run_json(maas("machines", "read", f"agent_name={request['instanceId']}"), OUTCOMES)
    return found[0] if found else None


def must_find(request):
    machine = find(request)
    if machine is None:
        raise NoSuchMachine(f"no machine of MAAS has the agent name {request['instanceId']}")
    return machine


def launch(request):
    machine = find(request)
    if machine is None:
        arguments = ["machines", "allocate", f"agent_name={request['instanceId']}"]
        if setting("MAAS_TAGS", ""):
            arguments += [f"tags={setting('MAAS_TAGS')}"]
        if request.get("zone"):
            arguments += [f"zone={request['zone']}"]
        machine = run_json(maas(*arguments), OUTCOMES)
    if machine["status_name"] == "Allocated":
        data = base64.b64encode(cloud_config(request).encode()).decode()
        image = [f"distro_series={request['imageId']}"] if request.get("imageId") else []
        run(maas("machine", "deploy", machine["system_id"], f"user_data={data}", *image), OUTCOMES)
    return {"ref": machine["system_id"], "state": "pending", "address": (machine.get("ip_addresses") or [""])[0]}


def describe(request):
    machine = must_find(request)
    status = machine["status_name"]
    trouble = "" if status in STATES else f"MAAS says {status}"
    return {"ref": machine["system_id"], "state": STATES.get(status, "pending"), "address": (machine.get("ip_addresses") or [""])[0],
            "trouble": trouble}


def reboot(request):
    """Off and on: what was on its way to off when this program was killed is switched on by the next run."""
    ref = must_find(request)["system_id"]
    run(maas("machine", "power-off", ref, "stop_mode=hard"), OUTCOMES)
    run(maas("machine", "power-on", ref), OUTCOMES)


def terminate(request):
    after = setting("MAAS_AFTER", "release")
    if after not in ("release", "mark-broken"):
        raise Never("MAAS_AFTER must be release or mark-broken")
    run(maas("machine", after, must_find(request)["system_id"], "comment=taken away by Holdfast"), OUTCOMES)


if __name__ == "__main__":
    serve(launch=launch, describe=describe, reboot=reboot, terminate=terminate)
