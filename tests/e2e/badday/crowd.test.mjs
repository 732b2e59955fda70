// A fleet that comes back all at once: hpd is killed while 200 nodes speak over 1000 connections, starts again, and all of
// them are there in the same second; no agent counts as not seen, nothing is repaired. Uses the load generator of make bench.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Local, hpdPath } from '../lib/local.mjs';
import { until } from '../lib/world.mjs';

const bench = join(dirname(hpdPath), 'bench');
const skip = ['seed', 'load'].every((name) => existsSync(join(bench, name))) ? false : 'needs make bench-build';

test('1000 connections of 200 nodes after a restart', { skip, timeout: 300000 }, async () => {
  const world = new Local({ config: { providers: {} } });
  const nodes = join(world.dir, 'nodes');
  const load = (seconds) =>
    new Promise((done) => {
      const child = spawn(join(bench, 'load'), ['--mode', 'heartbeat', '--port', String(world.port), '--nodes', nodes, '--connections', '1000', '--seconds', String(seconds)]);
      let out = '';
      child.stdout.on('data', (data) => (out += data));
      child.on('exit', () => done(out ? JSON.parse(out) : null));
    });
  try {
    assert.equal(spawnSync(join(bench, 'seed'), [world.state, '200', nodes]).status, 0);
    await world.start();
    const status = (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${world.hpd.pid}/status`, 'utf8'))[1]);
    for (let round = 0; round < 2; round++) {
      const cut = load(120); // as long as it has a server
      const last = (await world.list('/v1/clusters/bench/nodes')).at(-1).name;
      await until('all speak', async () => (await world.get(`/v1/clusters/bench/nodes/${last}`)).live?.lastHeartbeatAt);
      await world.stopHpd('SIGKILL');
      assert.equal(await cut, null, 'the generator lost its server');
      await world.start();
      const all = await load(10);
      assert.ok(all.requests >= 1000, 'every connection was served');
      assert.equal((await world.call('GET', '/healthz')).status, 200);
      const list = await world.list('/v1/clusters/bench/nodes');
      assert.equal(list.length, 200);
      assert.ok(list.every((n) => n.state === 'ready'));
      const described = await world.get(`/v1/clusters/bench/nodes/${list[round].name}`);
      assert.equal(described.live.silent, false);
    }
    assert.deepEqual((await world.list('/v1/operations')).length, 0);
    assert.deepEqual((await world.list('/v1/events?cluster=bench')).filter((e) => e.kind === 'agent-silent'), []);
    assert.ok(status('VmRSS') < 200 * 1024, `${status('VmRSS')} kB`);
  } finally {
    await world.end();
  }
});
