#!/usr/bin/python3 -B
"""Machines of OpenStack, by its command line (openstack).

Environment: what `openstack` takes (OS_CLOUD with OS_CLIENT_CONFIG_FILE, or OS_AUTH_URL and the others), OPENSTACK_NETWORK,
OPENSTACK_FLAVOR and OPENSTACK_IMAGE where the group names no instance type and no image. OPENSTACK names another executable.

A server has Holdfast's id as its name, and is looked for before it is made: the same launch makes no second server.
"""
import os
import re
import tempfile

from holdfast_provider import Never, NoCapacity, NoSuchMachine, NotNow, cloud_config, run, run_json, serve, setting

OPENSTACK = os.environ.get("OPENSTACK", "openstack")
OUTCOMES = (
    (("No valid host was found", "Quota exceeded", "No more IP addresses", "exceeded available"), NoCapacity),
    (("No server with a name or ID", "No Server found for", "could not be found. (HTTP 404)"), NoSuchMachine),
    (("HTTP 429", "HTTP 500", "HTTP 502", "HTTP 503", "HTTP 504", "Unable to establish connection", "timed out"), NotNow),
    (("HTTP 400", "HTTP 401", "HTTP 403", "No flavor", "No Image", "No image", "No Network", "Missing value"), Never),
)
STATES = {"BUILD": "pending", "REBUILD": "pending", "DELETED": "gone", "SOFT_DELETED": "gone", "ACTIVE": "running",
          "REBOOT": "running", "HARD_REBOOT": "running"}


def find(request):
    """The server's id; None when there is none."""
    if request.get("ref"):
        return request["ref"]
    name = f"^{re.escape(request['instanceId'])}$"
    found = run_json([OPENSTACK, "server", "list", "--name", name, "-f", "json", "-c", "ID"], OUTCOMES)
    return found[0]["ID"] if found else None


def must_find(request):
    ref = find(request)
    if ref is None:
        raise NoSuchMachine(f"no server has the name {request['instanceId']}")
    return ref


def launch(request):
    ref = find(request)
    if ref is None:
        arguments = [OPENSTACK, "server", "create", "-f", "json", "--flavor", request.get("instanceType") or setting("OPENSTACK_FLAVOR"),
                     "--image", request.get("imageId") or setting("OPENSTACK_IMAGE"), "--network", setting("OPENSTACK_NETWORK"),
                     "--property", f"holdfast-node={request['node']}"]
        if request.get("zone"):
            arguments += ["--availability-zone", request["zone"]]
        with tempfile.NamedTemporaryFile("w") as data:  # readable by us alone: it has the token
            data.write(cloud_config(request))
            data.flush()
            ref = run_json(arguments + ["--user-data", data.name, request["instanceId"]], OUTCOMES)["id"]
    return {"ref": ref, "state": "pending"}


def show(ref):
    return run_json([OPENSTACK, "server", "show", "-f", "json", ref], OUTCOMES)


def address_of(server):
    """{"network": ["10.0.0.7"]}, or in older releases "network=10.0.0.7"."""
    addresses = server.get("addresses") or ""
    text = " ".join(a for each in addresses.values() for a in each) if isinstance(addresses, dict) else str(addresses)
    found = re.search(r"\d+\.\d+\.\d+\.\d+", text)
    return found.group(0) if found else ""


def describe(request):
    server = show(must_find(request))
    status = server["status"]
    state = STATES.get(status, "pending")
    trouble = "" if status in STATES else f"OpenStack says {status}"
    fault = server.get("fault") or {}
    if status == "ERROR" and isinstance(fault, dict) and fault.get("message"):
        trouble = f"OpenStack says ERROR: {fault['message'][:200]}"
    return {"ref": server["id"], "state": state, "address": address_of(server), "trouble": trouble}


def reboot(request):
    """The property keeps the key: OpenStack reboots again whenever it is asked."""
    ref = must_find(request)
    kept = show(ref).get("properties") or {}  # a dictionary; in older releases a text
    if request["key"] == kept.get("holdfast-reboot") if isinstance(kept, dict) else f"'{request['key']}'" in kept:
        return
    run([OPENSTACK, "server", "reboot", "--hard", ref], OUTCOMES)
    run([OPENSTACK, "server", "set", "--property", f"holdfast-reboot={request['key']}", ref], OUTCOMES)


def terminate(request):
    run([OPENSTACK, "server", "delete", must_find(request)], OUTCOMES)


if __name__ == "__main__":
    serve(launch=launch, describe=describe, reboot=reboot, terminate=terminate)
