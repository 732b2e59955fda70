#!/usr/bin/python3 -B
"""Machines of one's own with a BMC, by ipmitool. They are reached by the network's boot server, and never bought.

Environment: IPMI_MACHINES, a JSON file {"rack1-07": {"bmc": "10.1.0.7", "address": "10.0.0.7"}}; IPMI_STATE, a directory;
IPMI_USER; IPMI_PASSWORD_FILE. IPMITOOL names another executable.

A launch takes a machine that nobody has, writes IPMI_STATE/MACHINE/cloud-config for the boot server, and switches it on to
boot from the network. A machine that was taken away is switched off and stays taken until a person removes
IPMI_STATE/MACHINE: it may be broken.
"""
import json
import os

from holdfast_provider import Never, NoCapacity, NoSuchMachine, NotNow, cloud_config, run, serve, setting

IPMITOOL = os.environ.get("IPMITOOL", "ipmitool")
OUTCOMES = (
    (("Unable to establish", "Get Device ID command failed", "timeout", "Node busy"), NotNow),
    (("Invalid user name", "unauthorized name", "RAKP 2 HMAC is invalid", "Invalid privilege", "password"), Never),
)


def machines():
    try:
        with open(setting("IPMI_MACHINES"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Never(f"IPMI_MACHINES: {error}") from None


def place(name, file=""):
    return os.path.join(setting("IPMI_STATE"), name, file)


def read(name, file):
    try:
        with open(place(name, file), encoding="utf-8") as kept:
            return kept.read()
    except FileNotFoundError:
        return ""


def write(name, file, text):
    """All of it or nothing; readable by us alone."""
    descriptor = os.open(place(name, file + ".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.rename(place(name, file + ".new"), place(name, file))


def power(name, *words):
    return run([IPMITOOL, "-I", "lanplus", "-H", machines()[name]["bmc"], "-U", setting("IPMI_USER"), "-f", setting("IPMI_PASSWORD_FILE"),
                "chassis", *words], OUTCOMES, 30)


def find(request):
    for name in machines():
        if read(name, "instance") == request["instanceId"]:
            return name
    return None


def must_find(request):
    name = find(request)
    if name is None or read(name, "ended"):
        raise NoSuchMachine(f"no machine is that of {request['instanceId']}")
    return name


def take(request):
    """The directory is made by one of two that try."""
    for name in sorted(machines()):
        try:
            os.mkdir(place(name), 0o700)
        except FileExistsError:
            if read(name, "instance"):
                continue
            # Ours or another's that is about to write its name: whoever links first has it.
        write(name, f"claim.{request['instanceId']}", request["instanceId"])
        try:
            os.link(place(name, f"claim.{request['instanceId']}"), place(name, "instance"))
            return name
        except FileExistsError:
            continue
    raise NoCapacity("each machine of IPMI_MACHINES is taken")


def launch(request):
    name = find(request) or take(request)
    write(name, "cloud-config", cloud_config(request))
    power(name, "bootdev", "pxe")
    is_on = "is on" in power(name, "power", "status")
    power(name, "power", "cycle" if is_on else "on")
    return {"ref": name, "state": "pending", "address": machines()[name].get("address")}


def describe(request):
    name = must_find(request)
    is_on = "is on" in power(name, "power", "status")
    return {"ref": name, "state": "running" if is_on else "pending", "address": machines()[name].get("address"),
            "trouble": "" if is_on else "the BMC says that the machine is off"}


def reboot(request):
    """The key is kept after the cycle: killed in between, the next run cycles once more. A machine that is off is switched on."""
    name = must_find(request)
    if read(name, "reboot") == request["key"]:
        return
    is_on = "is on" in power(name, "power", "status")
    power(name, "power", "cycle" if is_on else "on")
    write(name, "reboot", request["key"])


def terminate(request):
    name = must_find(request)
    power(name, "power", "off")
    write(name, "cloud-config", "")  # the token is no longer needed
    write(name, "ended", request["key"])


if __name__ == "__main__":
    serve(launch=launch, describe=describe, reboot=reboot, terminate=terminate)
