# The same lines and the same patterns in Python, at its best: the log in memory, one compiled expression for all rows, a
# loop that runs in C. And as it is written where each pattern has a line of its own: one after the other, on some lines.
#
#   kmsg.py LOG EXPRESSION
import json
import re
import sys
import time

SOME = 10000
HEAD_END = ';(?:'

with open(sys.argv[1], encoding='latin-1') as log:
    lines = log.read().splitlines()
with open(sys.argv[2], encoding='latin-1') as file:
    expression = file.read()

one = re.compile(expression)
start = time.perf_counter()
known = sum(map(bool, map(one.match, lines)))
seconds = time.perf_counter() - start

head, rows = expression.split(HEAD_END, 1)
each = [re.compile(f'{head};(?:{row})') for row in re.split(r'(?<!\\)\|', rows[:-1])]
some = lines[:SOME]
start = time.perf_counter()
known_each = sum(1 for line in some if any(row.match(line) for row in each))
seconds_each = time.perf_counter() - start
assert known_each == sum(map(bool, map(one.match, some)))

print(json.dumps({'known': known, 'seconds': seconds, 'eachSeconds': seconds_each * len(lines) / len(some),
                  'version': sys.version.split()[0]}))
