// Strangers take all the connections that hpd has descriptors for: agents that are connected go on, the store and backends
// have descriptors left, and as soon as there is room everybody is let in again, by every worker.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { Local } from '../lib/local.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

let world;
before(async () => {
  world = await new Local().start();
});
after(() => world?.end());

test('no descriptor is left for one more connection', { timeout: 300000 }, async (t) => {
  // hpd asks for as many as it may have: the hard limit is what binds it, and it does at its next start.
  if (spawnSync('prlimit', ['--version']).error) return t.skip('needs prlimit');
  await world.create(2);
  await world.ready();
  await world.stopHpd();
  world.wrapper = ['prlimit', '--nofile=300:300'];
  await world.start();
  await world.ready();
  const strangers = [];
  let closed = 0;
  for (let i = 0; i < 400; i++) {
    const socket = connect(world.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => closed++);
    strangers.push(socket);
  }
  await until('the first of them are cut off', () => closed > 20);
  for (const id of world.directories()) assert.ok(world.processOf(id, 'hp-agent'));
  strangers.forEach((socket) => socket.destroy());
  for (let i = 0; i < 12; i++) assert.equal((await world.raw('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 30000)).status, 200, `request ${i}`);
  await world.kernel('w-1', FELL_OFF);
  await until('repaired', async () => (await world.repairs('w-1')).some((o) => o.state === 'succeeded') && (await world.node('w-1')).state === 'ready');
  assert.equal(world.reboots().length, 1);
});
