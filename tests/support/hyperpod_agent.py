"""HyperPod's own agent, as its package has it, to be compared with hprun: its rules over a log, and its HTTP API.

    hyperpod_agent.py PACKAGE rules      {"rules": [...], "lines": [[second, text], ...], "end": second} on stdin; [[second, "LogHang_x"], ...] out
    hyperpod_agent.py PACKAGE api PORT   serves until it is killed

What of the package needs a newer PyTorch than there is here is left out: the server gets an agent of ours that has its table of states.
"""
import importlib
import json
import sys
import types

package = types.ModuleType("hyperpod_elastic_agent")
package.__path__ = [sys.argv[1]]
sys.modules["hyperpod_elastic_agent"] = package
REASONS = {"HANGING": "LogHang", "SLOW": "LogSlow", "FAULTED": "LogFault"}


def rules():
    log_agent = importlib.import_module("hyperpod_elastic_agent.logagent.log_agent")
    task = json.load(sys.stdin)
    now = [0.0]
    log_agent.time = types.SimpleNamespace(time=lambda: 1000000.0 + now[0])
    evaluators = [log_agent.LogEvaluator(rule) for rule in task["rules"]]
    states, found = ["WAITING"] * len(evaluators), []

    def evaluate(line):
        for i, evaluator in enumerate(evaluators):
            state = evaluator.evaluate(line)[0].value
            if state != states[i] and state in REASONS:
                found.append([now[0], REASONS[state] + "_" + evaluator.name])
            states[i] = state

    for second, line in task["lines"] + [[task["end"], None]]:
        while now[0] + 1 < second:
            now[0] += 1
            evaluate(None)  # the agent looks each second,
        now[0] = second - 0.01
        evaluate(None)  # and, so that nothing hangs on when it last looked, just before a line
        now[0] = second
        evaluate(line)
    json.dump(found, sys.stdout)


def api(port):
    import torch.distributed.elastic.utils.logging  # noqa: F401  the package replaces a function of it
    import uvicorn

    server = importlib.import_module("hyperpod_elastic_agent.server.server")
    util = importlib.import_module("hyperpod_elastic_agent.server.util")

    class Agent:
        version, priority, spare, can_start = "1.1.3", False, True, False

        def __init__(self):
            self.state, self.transitions, self.reason, self.rank = util.AgentState.INIT, {util.AgentState.INIT: "t"}, None, -1
            self.set_agent_state(util.AgentState.READY)

        def set_agent_state(self, state, reason=None):
            if state not in util.PLR_VALID_TRANSITIONS[self.state]:
                return
            self.state, self.reason = state, reason
            self.transitions[state] = "t"

        def set_agent_state_running(self):
            self.set_agent_state(util.AgentState.RUNNING, "Running")

        def get_agent_state_info(self):
            return util.AgentInfo(state=self.state, transitions=self.transitions, reason=self.reason)

        def get_agent_progress(self):
            return None

        def get_assigned_rank(self):
            return self.rank

        def set_assigned_rank(self, rank):
            self.rank = rank

        def get_restart_mode(self):
            return "process_level_restart"

        def __getattr__(self, _name):
            return lambda *args, **kwargs: None

    app = server.HyperPodElasticAgentServer(Agent(), {"host": "127.0.0.1", "port": port, "log_level": "error"})
    app.run()


if sys.argv[2] == "rules":
    rules()
else:
    api(int(sys.argv[3]))
