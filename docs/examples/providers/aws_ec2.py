#!/usr/bin/python3 -B
"""Machines of Amazon EC2, by its command line (aws).

Environment: AWS_REGION, EC2_LAUNCH_TEMPLATE (what a machine is: image, subnet, security groups, role); credentials as the
command line takes them (AWS_SHARED_CREDENTIALS_FILE, a role of the instance on which hpd runs). AWS names another executable.

A launch looks for the instance that has Holdfast's id as a tag before it makes one. It also sends its key as the client token:
EC2 makes one instance for a token, even before the tag can be found. Describe finds what
EC2 says of the hardware: a failed status check, a scheduled event. Events tells hpd of what EC2 has scheduled, with its date.
"""
import hashlib
import os
import tempfile
import time

from holdfast_provider import Never, NoCapacity, NoSuchMachine, NotNow, cloud_config, run, run_json, serve, setting

AWS = os.environ.get("AWS", "aws")
GONE = ("InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed")
OUTCOMES = (
    (("InsufficientInstanceCapacity", "InsufficientReservedInstanceCapacity", "InsufficientCapacityOnHost", "InstanceLimitExceeded",
      "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InsufficientFreeAddressesInSubnet"), NoCapacity),
    (("RequestLimitExceeded", "Throttling", "ServiceUnavailable", "InternalError", "Could not connect", "timed out",
      "ExpiredToken", "Unable to locate credentials",
      "IdempotentParameterMismatch"), NotNow),
    (GONE, NoSuchMachine),
    (("UnauthorizedOperation", "AuthFailure", "Invalid", "Missing", "Unsupported"), Never),
)
STATES = {"pending": "pending", "running": "running", "stopping": "pending", "stopped": "pending", "shutting-down": "gone", "terminated": "gone"}


def ec2(*arguments):
    return [AWS, "--output", "json", "ec2", *arguments]


def tagged(request):
    """The instances that a launch made for this id and that are not gone."""
    found = run_json(ec2("describe-instances", "--filters", f"Name=tag:holdfast-instance,Values={request['instanceId']}"), OUTCOMES)
    return [i for r in found["Reservations"] for i in r["Instances"] if STATES.get(i["State"]["Name"]) != "gone"]


def find_id(request):
    """The id of EC2: as the launch answered it, or by the tag that the launch set."""
    if request.get("ref"):
        return request["ref"]
    instances = tagged(request)
    if not instances:
        raise NoSuchMachine(f"no instance has the tag holdfast-instance={request['instanceId']}")
    return instances[0]["InstanceId"]


def launch(request):
    made = tagged(request)
    return answer_of(made[0] if made else make(request))


def answer_of(instance):
    return {"ref": instance["InstanceId"], "state": "pending", "address": instance.get("PrivateIpAddress")}


def make(request):
    tags = [{"Key": "holdfast-instance", "Value": request["instanceId"]}, {"Key": "Name", "Value": request["node"]}]
    specification = "ResourceType=instance,Tags=[" + ",".join(f"{{Key={t['Key']},Value={t['Value']}}}" for t in tags) + "]"
    arguments = ec2("run-instances", "--launch-template", f"LaunchTemplateName={setting('EC2_LAUNCH_TEMPLATE')}", "--count", "1",
                    "--client-token", hashlib.sha256(request["key"].encode()).hexdigest(), "--tag-specifications", specification)
    for option, member in (("--instance-type", "instanceType"), ("--image-id", "imageId")):
        if request.get(member):
            arguments += [option, request[member]]
    if request.get("zone"):
        arguments += ["--placement", f"AvailabilityZone={request['zone']}"]
    with tempfile.NamedTemporaryFile("w") as data:  # readable by us alone: it has the token
        data.write(cloud_config(request))
        data.flush()
        return run_json(arguments + ["--user-data", f"file://{data.name}"], OUTCOMES)["Instances"][0]


def look(request):
    """An instance that was just launched may not be known yet at all places of EC2: not found counts after some tries."""
    until = time.monotonic() + float(setting("EC2_NOT_FOUND_SECONDS", "20"))
    while True:
        try:
            found = run_json(ec2("describe-instances", "--instance-ids", find_id(request)), OUTCOMES)
            return found["Reservations"][0]["Instances"][0]
        except NoSuchMachine:
            if time.monotonic() >= until:
                raise
            time.sleep(2)


def trouble_of(ref):
    status = run_json(ec2("describe-instance-status", "--instance-ids", ref), OUTCOMES)["InstanceStatuses"]
    for one in status:
        for event in one.get("Events", []):
            if not event.get("Description", "").startswith("[Completed]"):
                return f"EC2 has scheduled {event['Code']} at {event.get('NotBefore', 'an unknown time')}"
        for kind in ("SystemStatus", "InstanceStatus"):
            if one.get(kind, {}).get("Status") == "impaired":
                return f"EC2 says {kind} impaired"
    return ""


EVENTS = {"instance-retirement": "retirement", "instance-stop": "retirement", "system-reboot": "maintenance",
          "system-maintenance": "maintenance", "instance-reboot": "reboot"}


def events(request):
    """Those of all instances of the account: hpd knows its own by ref."""
    status = run_json(ec2("describe-instance-status", "--filters", "Name=event.code,Values=" + ",".join(EVENTS)), OUTCOMES)
    planned = []
    for one in status["InstanceStatuses"]:
        for event in one.get("Events", []):
            words = event.get("Description", "")
            if event["Code"] in EVENTS and not words.startswith(("[Completed]", "[Canceled]")):
                planned.append({"id": event.get("InstanceEventId", event["Code"]), "ref": one["InstanceId"],
                                "kind": EVENTS[event["Code"]], "at": event.get("NotBefore", ""),
                                "detail": f"EC2 has scheduled {event['Code']}: {words}"[:255]})
    return {"events": planned}


def describe(request):
    instance = look(request)
    name = instance["State"]["Name"]
    state = STATES.get(name, "pending")
    trouble = trouble_of(instance["InstanceId"]) if state == "running" else ""
    if name in ("stopping", "stopped"):
        trouble = f"the instance is {name}"
    return {"ref": instance["InstanceId"], "state": state, "address": instance.get("PrivateIpAddress"), "trouble": trouble}


def reboot(request):
    """The tag keeps the key: EC2 reboots again whenever it is asked."""
    ref = find_id(request)
    found = run_json(ec2("describe-instances", "--instance-ids", ref), OUTCOMES)["Reservations"][0]["Instances"][0]
    if any(tag == {"Key": "holdfast-reboot", "Value": request["key"]} for tag in found.get("Tags", [])):
        return
    run(ec2("reboot-instances", "--instance-ids", ref), OUTCOMES)
    run(ec2("create-tags", "--resources", ref, "--tags", f"Key=holdfast-reboot,Value={request['key']}"), OUTCOMES)


def terminate(request):
    run(ec2("terminate-instances", "--instance-ids", find_id(request)), OUTCOMES)


if __name__ == "__main__":
    serve(launch=launch, describe=describe, reboot=reboot, terminate=terminate, events=events)
