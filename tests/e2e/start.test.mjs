// hpd's start: what the README's first steps do, word by word, and a port that somebody else has.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { hpdPath, root } from './lib/programs.mjs';

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

test('the quick start of the README works as it is pasted', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [first, last] = [...readme.slice(readme.indexOf('## Quick start')).matchAll(/```sh\n([\s\S]*?)```/g)].map((m) => m[1]);
  const state = join(dir, 'first');
  const free = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => free.once('listening', done));
  const { port } = free.address();
  await new Promise((done) => free.close(done));
  // What it would build is built; the place and the port are this test's own.
  const script = `trap 'kill $(jobs -p) 2>/dev/null' EXIT\n${first}\n${last}`.replace(/scripts\/deps build && make\n/, '').replace('export PATH=$PWD/build:$PATH', `export PATH=${dirname(hpdPath)}:$PATH`)
    .replace('--config', `--listen 127.0.0.1:${port} --config`).replaceAll('127.0.0.1:8700', `127.0.0.1:${port}`).replaceAll('/tmp/first', state)
    .replace('sleep 10', 'until hpctl node explain gpu-1 | grep -q xid.79; do sleep 0.5; done');
  const { status, stdout, stderr } = spawnSync('bash', ['-m', '-e', '-c', script], { cwd: root, encoding: 'utf8', timeout: 300000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /2 of 2 nodes in service/);
  assert.match(stdout, /xid\.79/);
});
