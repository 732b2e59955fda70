// The demonstration is a test: it fails unless the node came back both times and a new job ran on it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const demo = (env = {}) => spawnSync(fileURLToPath(new URL('../../../demo/demo', import.meta.url)), ['--once'], { encoding: 'utf8', env: { ...process.env, ...env } });

// A slurmd of a machine's own PATH, which does what this script says instead of running.
function withSlurmd(script, env, check) {
  const bin = mkdtempSync(join(tmpdir(), 'holdfast-bin.'));
  try {
    writeFileSync(join(bin, 'slurmd'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, 'slurmd'), 0o755);
    check(demo({ PATH: `${bin}:${process.env.PATH}`, ...env }));
  } finally {
    rmSync(bin, { recursive: true });
  }
}

test('a daemon that does not start is named at once, with its last line', { timeout: 120000 }, () => {
  withSlurmd('echo "slurmd: error: Unable to initialize cgroup plugin" >&2; exit 1', {}, (run) => {
    assert.equal(run.status, 1);
    assert.match(run.stderr, /^demo: slurmd on gpu-\d exited: "slurmd: error: Unable to initialize cgroup plugin"$/m);
    assert.doesNotMatch(run.stderr, /Timed out/);
  });
});

test('a wait that is over says how far it came', { timeout: 120000 }, () => {
  withSlurmd('exec sleep 1000', { DEMO_WAIT_S: '3' }, (run) => {
    assert.equal(run.status, 1);
    assert.match(run.stderr, /^demo: Timed out after 3 s: 0 of 4 nodes in service\.$/m);
  });
});

test('make demo ONCE=1', { timeout: 600000 }, () => {
  const run = demo();
  assert.equal(run.status, 0, run.stdout + run.stderr);
  for (const seen of [/verdict/, /Action:Reboot/, /Action:Replace/, /a new job ran on gpu-2/]) assert.match(run.stdout, seen);
});
