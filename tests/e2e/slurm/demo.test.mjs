// The demonstration is a test: it fails unless the node came back both times and a new job ran on it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

test('make demo ONCE=1', { timeout: 600000 }, () => {
  const run = spawnSync(fileURLToPath(new URL('../../../demo/demo', import.meta.url)), ['--once'], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stdout + run.stderr);
  for (const seen of [/verdict/, /Action:Reboot/, /Action:Replace/, /a new job ran on gpu-2/]) assert.match(run.stdout, seen);
});
