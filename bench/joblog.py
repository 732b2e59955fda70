"""The same work in Python as HyperPod's agent does it: each rule is matched against each line, and the value is a float.

    joblog.py LOG RULES      prints MB/s of a pass and how many lines matched each rule
"""
import json
import re
import sys
import time

with open(sys.argv[2]) as file:
    rules = [(rule["name"], re.compile(rule["logPattern"]), "metricThreshold" in rule) for rule in json.load(file)]
matches = {name: 0 for name, _, _ in rules}
size, begin = 0, time.perf_counter()
with open(sys.argv[1]) as log:
    while line := log.readline():
        size += len(line)
        for name, pattern, has_value in rules:
            found = pattern.match(line)
            if found:
                matches[name] += 1
                if has_value:
                    float(found.group(1))
print(json.dumps({"mbPerSecond": size / 1e6 / (time.perf_counter() - begin), "matches": matches}))
