// hpd's start: what the README's first steps do, word by word, and a port that somebody else has.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { hpdPath } from './lib/programs.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-start.'));
after(() => rmSync(dir, { recursive: true, force: true }));

test('a port that is taken is the only thing hpd reports of its start', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => other.once('listening', done));
  const { port } = other.address();
  const { status, stdout, stderr } = spawnSync(hpdPath, ['--state-dir', join(dir, 'taken'), '--listen', `127.0.0.1:${port}`], { encoding: 'utf8', timeout: 60000 });
  other.close();
  assert.notEqual(status, 0);
  assert.match(stdout + stderr, new RegExp(`127\\.0\\.0\\.1:${port}`));
  assert.doesNotMatch(stdout + stderr, /admin token/);
});
