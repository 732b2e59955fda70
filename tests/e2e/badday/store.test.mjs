// The store's bad days, with the real hpd: a database of a newer version, garbage, two hpd on one directory, the end
// under load, a full disk.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Local, Speaker, hpdPath, random } from '../lib/local.mjs';
import { hpctlPath } from '../lib/programs.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-store.'));
const small = join(dir, 'small'); // a mount point while a test lasts
after(() => {
  spawnSync('umount', ['-l', small]);
  rmSync(dir, { recursive: true, force: true });
});

const refused = (state) => spawnSync(hpdPath, ['--state-dir', state, '--listen', '127.0.0.1:0'], { encoding: 'utf8', timeout: 60000 });
const digest = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

test('a database of a newer version, and files that are none, are refused in words and not touched', async () => {
  const world = await new Local({ speakers: true }).start();
  await world.stopHpd();
  const file = join(world.state, 'holdfast.db');
  const good = readFileSync(file);
  const cases = { garbage: Buffer.alloc(100000, 'not a database'), torn: good.subarray(0, good.length - 1000), empty_header: Buffer.concat([Buffer.alloc(100), good.subarray(100)]) };
  try {
    for (const [what, bytes] of Object.entries(cases)) {
      writeFileSync(file, bytes);
      const before = digest(file);
      const run = refused(world.state);
      assert.equal(run.status, 1, `${what}: ${run.stderr}`);
      assert.match(run.stderr, /the store cannot be opened: \S+/, what);
      assert.equal(digest(file), before, `${what}: touched`);
    }
    writeFileSync(file, good);
    const made = spawnSync('sqlite3', [file, "INSERT INTO schema_migrations (version, name, applied_at, sha256) VALUES (999, 'from-the-future', 1, '00'); PRAGMA wal_checkpoint(TRUNCATE);"], { encoding: 'utf8' });
    if (made.error === undefined) { // where there is no sqlite3, the unit test has it
      assert.equal(made.status, 0, made.stderr);
      const before = digest(file);
      const run = refused(world.state);
      assert.equal(run.status, 1, run.stderr);
      assert.match(run.stderr, /newer/);
      assert.equal(digest(file), before);
    }
    // The good one is still good.
    writeFileSync(file, good);
    await world.start();
    assert.equal((await world.call('GET', '/v1/clusters')).status, 200);
  } finally {
    await world.end();
  }
});

test('a second hpd on the same directory is refused, and the first goes on', async () => {
  const world = await new Local({ speakers: true }).start();
  try {
    const run = refused(world.state);
    assert.equal(run.status, 1);
    assert.match(run.stderr, /another|in use|lock/i);
    assert.equal((await world.call('GET', '/v1/clusters')).status, 200);
    await world.create(1);
    const speaker = (await new Speaker(world, 'w-1').enroll()).speak();
    await world.ready();
    speaker.stop();
  } finally {
    await world.end();
  }
});

const hpctl = (world, ...args) => spawnSync(hpctlPath, args, { encoding: 'utf8', timeout: 60000, env: { ...process.env, HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token } });
const restore = (state, file, ...more) => spawnSync(hpdPath, ['restore', '--state-dir', state, file, ...more], { encoding: 'utf8', timeout: 60000 });

test('a backup of a running hpd is restored whole, and what is older, incomplete or of another key is refused with what to do', async () => {
  const world = await new Local({ speakers: true }).start();
  const file = join(dir, 'backup.db');
  const store = join(world.state, 'holdfast.db');
  const names = async () => (await world.list('/v1/clusters')).map((c) => c.name);
  try {
    await world.create(1);
    await world.call('POST', '/v1/access-keys', { name: 'sdk', role: 'viewer' });
    assert.match(hpctl(world, 'doctor').stdout, /no backup was ever made/);
    const made = hpctl(world, 'backup', file, '-o', 'json');
    assert.equal(made.status, 0, made.stderr);
    const { bytes, keyFingerprint } = JSON.parse(made.stdout);
    assert.equal(statSync(file).size, bytes);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const healed = hpctl(world, 'doctor').stdout;
    assert.ok(healed.length > 0 && !/backup/.test(healed), healed);
    assert.equal(hpctl(world, 'backup', file).status, 2, 'an existing file is left alone');
    await world.call('DELETE', '/v1/clusters/demo');
    await until('the cluster is gone', async () => (await names()).length === 0);
    assert.match(restore(world.state, file).stderr, /an hpd is working in/);
    const bare = join(dir, 'bare.db');
    await until('the marker is written', () => existsSync(join(world.state, 'holdfast.marker')));
    copyFileSync(store, bare);
    await world.stopHpd();
    // The backup put there by hand is older than what was stored; hpd restore says that it is wanted.
    const newest = readFileSync(store);
    copyFileSync(file, store);
    const older = refused(world.state);
    assert.equal(older.status, 1);
    assert.match(older.stderr, /is older than what hpd last stored here.*hpd restore/);
    writeFileSync(store, newest);
    const incomplete = restore(world.state, bare);
    assert.equal(incomplete.status, 1);
    assert.match(incomplete.stderr, /without its log/);
    const key = join(world.state, 'secret.key');
    renameSync(key, join(dir, 'secret.key'));
    assert.match(restore(world.state, file).stderr, new RegExp(`sealed with the key ${keyFingerprint}`));
    renameSync(join(dir, 'secret.key'), key);
    writeFileSync(join(dir, 'torn.db'), readFileSync(file).subarray(0, bytes - 5000));
    assert.match(restore(world.state, join(dir, 'torn.db')).stderr, /cannot be used: /);
    assert.deepEqual(readFileSync(store), newest, 'nothing was touched so far');
    const done = restore(world.state, file);
    assert.equal(done.status, 0, done.stderr);
    await world.start();
    assert.deepEqual(await names(), ['demo']);
  } finally {
    await world.end();
  }
});

test('a lost or changed secret.key is an error at the start, and modes that are too open are corrected with a warning', async () => {
  const world = await new Local({ speakers: true }).start();
  const key = join(world.state, 'secret.key');
  try {
    await world.stopHpd();
    const good = readFileSync(key);
    unlinkSync(key);
    const lost = refused(world.state);
    assert.equal(lost.status, 1);
    assert.match(lost.stderr, /secret\.key is gone.*--new-secret-key/);
    assert.ok(!existsSync(key), 'no other one was made');
    writeFileSync(key, `${'0'.repeat(64)}\n`, { mode: 0o600 });
    const changed = refused(world.state);
    assert.equal(changed.status, 1);
    assert.match(changed.stderr, /has the fingerprint .*sealed with/);
    writeFileSync(key, good);
    chmodSync(key, 0o644);
    chmodSync(world.state, 0o777);
    await world.start();
    assert.match(world.log, /secret\.key was open to others \(mode 0644\) and is closed now \(0600\)/);
    assert.deepEqual([key, world.state].map((path) => statSync(path).mode & 0o777), [0o600, 0o755]);
  } finally {
    await world.end();
  }
});

test('a state directory that is removed under hpd: not ready, and nothing is acknowledged', async () => {
  const world = await new Local({ speakers: true }).start();
  try {
    assert.equal((await world.call('GET', '/readyz')).status, 200);
    renameSync(world.state, `${world.state}.gone`);
    const { status, body } = await world.call('GET', '/readyz');
    assert.equal(status, 503);
    assert.match(body.detail, /removed or replaced/);
    const asked = await world.call('POST', '/v1/tokens', { kind: 'api', name: 'late', role: 'viewer' });
    assert.ok(asked.status >= 500, JSON.stringify(asked));
    renameSync(`${world.state}.gone`, world.state);
    assert.equal((await world.call('POST', '/v1/tokens', { kind: 'api', name: 'again', role: 'viewer' })).status, 201);
    await until('ready again', async () => (await world.call('GET', '/readyz')).status === 200);
  } finally {
    await world.end();
  }
});

test('a limit of file sizes is a full disk, and too few descriptors are an error at the start', async () => {
  const world = await new Local({ speakers: true }).start();
  await world.stopHpd();
  const blocks = Math.ceil((statSync(join(world.state, 'holdfast.db')).size + 500000) / 512); // more than the schema takes
  world.wrapper = ['/bin/sh', '-c', `ulimit -f ${blocks}; exec "$@"`, 'sh'];
  await world.start();
  try {
    const seen = new Set();
    for (let i = 0; i < 2000 && !seen.has(507); i++) {
      const replies = await Promise.all(Array.from({ length: 8 }, (_, n) => world.call('POST', '/v1/tokens', { kind: 'api', name: `t-${i}-${n}`, role: 'viewer' })));
      replies.forEach(({ status }) => seen.add(status));
    }
    assert.deepEqual([...seen], [201, 507]);
    assert.equal((await world.call('GET', '/healthz')).status, 200);
  } finally {
    await world.end();
  }
  const few = spawnSync('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', hpdPath, '--state-dir', join(dir, 'few'), '--listen', '127.0.0.1:0'], { encoding: 'utf8', timeout: 60000 });
  assert.equal(few.status, 1);
  assert.match(few.stderr, /limited to 64, and hpd needs \d+ and one more for each agent/);
});

// Reports without pause, until stop() or until so many were acknowledged; what was is remembered by its device, which comes
// back in the list.
class Load {
  constructor(speaker, lanes, seed, most = Infinity) {
    Object.assign(this, { speaker, most, acknowledged: new Set(), statuses: {}, on: true, next: seed * 1000000 });
    this.lanes = Array.from({ length: lanes }, () => this.lane());
  }

  async lane() {
    while (this.on) {
      if (this.acknowledged.size >= this.most) {
        await sleep(20);
        continue;
      }
      const ids = Array.from({ length: 8 }, () => `dev-${this.next++}`);
      const at = Date.now();
      try {
        const { status } = await this.speaker.report(ids.map((id) => this.speaker.verdict(id, { device: id, firstAtMs: at, lastAtMs: at })));
        this.statuses[status] = (this.statuses[status] ?? 0) + 1;
        if (status === 200) ids.forEach((id) => this.acknowledged.add(id));
        else await sleep(20);
      } catch {
        this.statuses.none = (this.statuses.none ?? 0) + 1;
        await sleep(20);
      }
    }
  }

  async stop() {
    this.on = false;
    await Promise.all(this.lanes);
    return this.acknowledged;
  }
}

async function allThere(world, acknowledged) {
  const have = new Set((await world.verdicts('w-1')).map((v) => v.device));
  assert.deepEqual([...acknowledged].filter((id) => !have.has(id)), []);
}

test('neither SIGTERM nor SIGKILL under load loses what was acknowledged', async () => {
  const world = await new Local({ speakers: true }).start();
  const next = random(7);
  try {
    await world.create(1);
    const speaker = (await new Speaker(world, 'w-1').enroll()).speak();
    await world.ready();
    const load = new Load(speaker, 8, 1);
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL']) {
      const seen = load.acknowledged.size;
      await until('load', () => load.acknowledged.size > seen + 50);
      await sleep(next() * 200);
      const began = Date.now();
      const code = await world.stopHpd(signal);
      if (signal === 'SIGTERM') {
        assert.equal(code, 0, world.log.slice(-2000));
        assert.ok(Date.now() - began < 60000, `ends in time: ${Date.now() - began} ms`);
      }
      await world.start();
    }
    const acknowledged = await load.stop();
    speaker.stop();
    assert.ok(acknowledged.size > 200);
    await allThere(world, acknowledged);
  } finally {
    await world.end();
  }
});

const MANY = 8000; // two megabytes and a half, and several times that of log

test('a full disk: nothing is acknowledged, what was is there, and all goes on when there is room', async (t) => {
  const state = small;
  mkdirSync(state);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m,mode=0700', 'holdfast-test', state]);
  if (mounted.status !== 0) {
    t.skip('needs the right to mount a small tmpfs');
    return;
  }
  let world, load, speaker;
  try {
    // One machine speaks by a real agent, the other by the test.
    world = await new Local({ state }).start();
    await world.create(2);
    await world.ready();
    speaker = new Speaker(world, 'w-1');
    // The real agent of w-1 is told apart by being stopped: the test goes on with its credential.
    const { instanceId } = await world.node('w-1');
    const pid = world.processOf(instanceId, 'hp-agent');
    process.kill(pid, 'SIGSTOP');
    Object.assign(speaker, { instanceId, bootId: world.file(instanceId, 'boot_id'), credential: /hfn_[^\s"]+/.exec(['credential', 'credential.json'].map((f) => world.file(instanceId, `agent/${f}`)).join())[0] });
    speaker.speak();
    load = new Load(speaker, 4, 2, 100);
    await until('load', () => load.acknowledged.size >= load.most);
    const ballast = join(state, 'ballast');
    const { bavail, bsize } = statfsSync(state);
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096', `count=${Math.ceil((bavail * bsize) / 4096) + 10}`]);
    load.most = Infinity;
    await until('507', () => load.statuses[507] > 20); // and whatever the log still had room for is taken
    // Full: reads, health and heartbeats go on; commands are refused in words.
    assert.equal((await world.call('GET', '/healthz')).status, 200);
    assert.equal((await world.call('GET', '/v1/clusters/demo/nodes')).status, 200);
    assert.equal((await speaker.beat()).status, 200);
    const asked = await world.call('POST', '/v1/clusters/demo/nodes/w-1/reboot', {});
    assert.equal(asked.status, 507, JSON.stringify(asked.body));
    assert.match(asked.body.detail, /disk|space|room/i);
    // A fatal fault on the real agent's machine waits in its spool.
    await world.kernel('w-2', FELL_OFF);
    const other = (await world.node('w-2')).instanceId;
    await until('the agent hears no', () => /507/.test(world.file(other, 'log/hp-agent.log')));
    assert.ok(existsSync(join(world.instances, other, 'agent/spool')));
    assert.deepEqual(await world.repairs('w-2'), []);
    // Room for what is stored, but not for a log of every write: it has to be folded on the way.
    load.most = load.acknowledged.size + MANY;
    unlinkSync(ballast);
    await until('acknowledged again', () => load.acknowledged.size >= load.most);
    const acknowledged = await load.stop();
    speaker.stop();
    process.kill(pid, 'SIGCONT');
    await until('repaired', async () => (await world.repairs('w-2')).some((o) => o.state === 'succeeded') && (await world.node('w-2')).state === 'ready');
    assert.equal((await world.repairs('w-2')).length, 1);
    await allThere(world, acknowledged);
    // And after another start, from what is on the disk alone.
    await world.stopHpd('SIGKILL');
    await world.start();
    await allThere(world, acknowledged);
    assert.equal(world.reboots().length, 1);
  } finally {
    if (load) load.on = false;
    speaker?.stop();
    await load?.stop();
    await world?.end();
    spawnSync('umount', ['-l', state]);
  }
});
