// hpd's start: what the README's first steps do, word by word, and a port that somebody else has.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { agentPath, hpctlPath, hpdPath, hprunPath, root } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

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
  const script = `trap 'kill $(jobs -p) 2>/dev/null' EXIT\n${first}\nhpctl node describe gpu-2 -o json\n${last}`.replace(/scripts\/deps build && make\n/, '').replace('export PATH=$PWD/build:$PATH', `export PATH=${dirname(hpdPath)}:$PATH`)
    .replace('--config', `--listen 127.0.0.1:${port} --config`).replaceAll('127.0.0.1:8700', `127.0.0.1:${port}`).replaceAll('/tmp/first', state)
    .replace('sleep 10', 'until hpctl node explain gpu-1 | grep -q xid.79; do sleep 0.5; done');
  const { status, stdout, stderr } = spawnSync('bash', ['-m', '-e', '-c', script], { cwd: root, encoding: 'utf8', timeout: 300000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /2 of 2 nodes in service/);
  assert.match(stdout, /xid\.79/);
  assert.match(stdout, /"address": ?"127\.0\.0\.1"/); // which AWS's scripts read
});

// hpd on every address, under a public name; ended by the caller.
async function startPublic(name) {
  const config = join(dir, `${name}.yaml`);
  writeFileSync(config, `listen: 0.0.0.0:0\npublicUrl: https://${name}:8700\n`);
  const hpd = spawn(hpdPath, ['--state-dir', join(dir, 'public'), '--config', config, '--log-level', 'debug'], { stdio: ['ignore', 'ignore', 'pipe'] });
  hpd.log = '';
  hpd.stderr.on('data', (data) => (hpd.log += data));
  await until('hpd listens', () => /listening on/.test(hpd.log));
  // Which port it got, the kernel says: sockets of this process that listen.
  const inodes = new Set(spawnSync('find', [`/proc/${hpd.pid}/fd`, '-lname', 'socket:*', '-printf', '%l\\n'], { encoding: 'utf8' }).stdout.match(/\d+/g));
  const line = readFileSync('/proc/net/tcp', 'utf8').split('\n').map((text) => text.trim().split(/\s+/)).find((words) => words[3] === '0A' && inodes.has(words[9]));
  hpd.port = Number.parseInt(line[1].split(':')[1], 16);
  return hpd;
}

const shakeHands = (options) => new Promise((done) => {
  const socket = connect({ host: '127.0.0.1', ...options }, () => {
    done({ protocol: socket.getProtocol(), cipher: socket.getCipher().name });
    socket.destroy();
  });
  socket.once('error', (error) => done({ error: error.code }));
});

test('other clients verify the address that hpd hands out by what hpctl ca prints, and TLS 1.2 has no CBC', async () => {
  for (const name of ['hpd.example.org', 'new.example.org']) {
    const hpd = await startPublic(name);
    try {
      const fingerprint = /sha256:\S+/.exec(hpd.log)[0];
      const token = readFileSync(join(dir, 'public', 'admin.token'), 'utf8').trim();
      const env = { ...process.env, HPCTL_URL: `https://127.0.0.1:${hpd.port}`, HPCTL_TOKEN: token, HPCTL_FINGERPRINT: fingerprint };
      const { stdout: ca, status, stderr } = spawnSync(hpctlPath, ['ca'], { env, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      const trusted = { port: hpd.port, ca, servername: name };
      assert.equal((await shakeHands(trusted)).protocol, 'TLSv1.3');
      assert.equal((await shakeHands({ ...trusted, servername: 'evil.example.org' })).error, 'ERR_TLS_CERT_ALTNAME_INVALID');
      const old = { ...trusted, maxVersion: 'TLSv1.2' };
      assert.match((await shakeHands(old)).cipher, /GCM|CHACHA20/);
      const cbc = await shakeHands({ ...old, ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA' });
      assert.ok(cbc.error, JSON.stringify(cbc));
      const raw = await new Promise((done, no) => {
        let got = '';
        const socket = connect({ host: '127.0.0.1', ...trusted }, () => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'));
        socket.on('data', (data) => (got += data)).once('close', () => done(got)).once('error', no);
      });
      assert.deepEqual(raw.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 400'], raw);
      assert.equal(hpd.log.includes('made again for the same key'), name === 'new.example.org', hpd.log);
    } finally {
      hpd.kill();
      await new Promise((done) => hpd.once('exit', done));
    }
  }
});

const PROGRAMS = [hpdPath, hpctlPath, agentPath, hprunPath, join(root, 'build/hp-auto-resume')];
const read = (...command) => {
  const { stdout, stderr, status } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' });
  assert.equal(status, 0, `${command.join(' ')}: ${stderr}`);
  return stdout;
};

test('what is called at run time is bound when a program starts, and nothing can write to that afterwards', () => {
  for (const program of PROGRAMS) {
    assert.match(read('readelf', '-d', program), /BIND_NOW|\bNOW\b/, program);
    assert.match(read('readelf', '-lW', program), /GNU_RELRO/, program);
    assert.match(read('readelf', '-hW', program), /Type:\s+DYN/, program);
  }
});

test('jumps lead to marked places only, where the processor checks that', { skip: process.arch === 'x64' ? false : 'needs an x86-64' }, () => {
  for (const program of PROGRAMS)
    assert.match(read('objdump', '-d', '--disassemble=main', program), /<main>:\n.*\bendbr64\b/, program);
});

// The linker notes it in a program only where each file has it: all of ours do, and the start files of the C library do on some systems.
test('each object is built for checked jumps and returns, and a program says so where the start files of libc have it, too', { skip: process.arch === 'x64' ? false : 'needs an x86-64' }, (t) => {
  const checked = (file) => /x86 feature:.*IBT, SHSTK/.test(read('readelf', '-n', file));
  const objects = ['base', 'model', 'policy', 'db', 'server', 'api', 'agents', 'cli', 'simulate'].flatMap((room) =>
    readdirSync(join(dirname(hpdPath), room), { recursive: true }).filter((name) => name.endsWith('.o')).map((name) => join(dirname(hpdPath), room, name)));
  assert.ok(objects.length > 300, `${objects.length} objects`);
  // One text for all: a file without the property prints no line with it.
  const marked = read('readelf', '-n', ...objects).split('\n').filter((line) => /x86 feature:.*IBT, SHSTK/.test(line)).length;
  assert.equal(marked, objects.length);
  const start = ['Scrt1.o', 'crti.o', 'crtn.o', 'crtbeginS.o', 'crtendS.o'].map((name) => read(process.env.CC ?? 'cc', `-print-file-name=${name}`).trim());
  const whole = start.every(checked);
  t.diagnostic(`the start files of libc ${whole ? 'have' : 'do not have'} it`);
  if (whole) for (const program of PROGRAMS) assert.ok(checked(program), program);
});
