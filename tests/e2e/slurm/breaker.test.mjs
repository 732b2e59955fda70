// A rack goes dark: the breaker holds the repairs, says so, closes itself, and the held ones go on, one at a time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';

let world;
before(async () => {
  world = await new World({ recovery: { breakerMin: 2, breakerPercent: 1, breakerWindow: '10s', breakerCloseAfter: '3s' } }).start();
});
after(() => world?.end());

test('more than the limit failing at once are held, then repaired within the budget', async () => {
  for (const node of ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4']) world.kernel(node, FELL_OFF);
  await until('the breaker opens', () => world.events({ kind: 'breaker-opened' }).length > 0);
  assert.match(world.hpctl('cluster', 'describe').out, /OPEN/);
  const held = world.json('node', 'list', '--state', 'held');
  assert.ok(held.length > 0);
  assert.match(world.hpctl('node', 'explain', held[0].name).out, /breaker/);
  for (const node of held) assert.match(world.slurmNode(node.name).state, /DRAIN|FAIL/);
  let mostAtOnce = 0;
  await until('all four back in service', () => {
    const nodes = world.json('node', 'list');
    mostAtOnce = Math.max(mostAtOnce, nodes.filter((n) => ['repairing', 'verifying', 'starting'].includes(n.state)).length);
    return nodes.every((n) => n.state === 'ready') && world.events({ kind: 'breaker-closed' }).length > 0;
  });
  assert.equal(mostAtOnce, 1, 'at most max(1, 5 %) in repair');
  for (const node of ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4']) {
    const done = world.operations(node).filter((o) => ['reboot', 'replace'].includes(o.kind) && o.state === 'succeeded');
    assert.equal(done.length, 1, `${node} was repaired once`);
  }
  await until('all idle', () => world.states().every((s) => s === 'idle'));
});
