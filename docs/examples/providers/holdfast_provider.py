"""What the examples share: the protocol of a provider of the kind "command" (hpd(8)), and how a command line is run.

An example defines a function for each action and calls serve(). The function gets the request as a dictionary. It returns
the answer, or raises an Outcome. Nothing but the answer goes to standard output; hpd shows the last line of standard error.
"""
import json
import os
import subprocess
import sys

ACTIONS = ("launch", "describe", "reboot", "terminate")
OF_ALL = ("list", "events")  # of all machines; a site may leave them out
VERSION = 1


class Outcome(Exception):
    """How an action ended when it was not done. The text is one line for the person who reads the step."""

    code = 1


class NoCapacity(Outcome):
    code = 3


class NotNow(Outcome):
    code = 4


class Never(Outcome):
    code = 5


class NoSuchMachine(Outcome):
    code = 6


def setting(name, default=None):
    """A variable of providers.NAME.environment in hpd.yaml."""
    value = os.environ.get(name, default)
    if value is None:
        raise Never(f"{name} is not set: add it to the provider's environment in hpd.yaml")
    return value


def run(arguments, outcomes, seconds=100):
    """Runs a command line without a shell and returns its output. outcomes: (words, Outcome) in the order in which they are tried;
    words that standard error has say what the failure means. Any other failure is a fault, and hpd runs the action again."""
    try:
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except FileNotFoundError:
        raise Never(f"{arguments[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise NotNow(f"{os.path.basename(arguments[0])} did not answer within {seconds} s") from None
    error = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    said = " ".join(error.split())[-200:] or f"{os.path.basename(arguments[0])} ended with exit code {done.returncode}"
    for words, outcome in outcomes:
        if any(word in error for word in words):
            raise outcome(said)
    raise Outcome(said)


def run_json(arguments, outcomes, seconds=100):
    text = run(arguments, outcomes, seconds)
    try:
        return json.loads(text)
    except ValueError:
        raise Outcome(f"{os.path.basename(arguments[0])} answered no JSON: {text[:80]!r}") from None


def cloud_config(request):
    """User data for cloud-init, for an image that has the hp-agent package: the token of the machine, and the agent's settings.
    JSON is YAML."""
    options = f"--node {request['node']} --instance-id {request['instanceId']}"
    if request.get("fingerprint"):
        options += f" --fingerprint {request['fingerprint']}"
    return "#cloud-config\n" + json.dumps({
        "write_files": [
            {"path": "/etc/holdfast/agent.token", "permissions": "0600", "content": request["token"]},
            {"path": "/etc/holdfast/agent.env", "content": f"HPD_URL={request['server']}\nHP_AGENT_OPTIONS={options}\n"},
        ],
        "runcmd": [["systemctl", "enable", "hp-agent"], ["systemctl", "restart", "hp-agent"]],
    })


def read_request():
    try:
        request = json.loads(sys.stdin.read(64 * 1024))
    except ValueError:
        raise Never("the request is no JSON") from None
    if not isinstance(request, dict) or request.get("version") != VERSION:
        raise Never(f"the request is not of version {VERSION}")
    if request.get("action") in OF_ALL:
        return request
    if request.get("action") not in ACTIONS or not request.get("instanceId"):
        raise Never("the request has no known action, or no instanceId")
    if request["action"] != "describe" and not request.get("key"):
        raise Never("the request has no key")
    return request


def serve(**actions):
    try:
        request = read_request()
        if request["action"] not in actions:
            raise Never(f"this provider has no {request['action']}")
        answer = actions[request["action"]](request)
    except Outcome as outcome:
        print(outcome, file=sys.stderr)
        sys.exit(outcome.code)
    if answer is not None:
        of_all = request["action"] in OF_ALL
        print(json.dumps({name: value for name, value in answer.items() if value or of_all}))
