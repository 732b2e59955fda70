// A machine whose agent cannot start: who waits for its node is told what the agent said, not only that time ran out.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const service = { ...agentService, command: [...agentService.command, '--no-such-option'] };
const world = new Local({ service, recovery: { joinDeadline: '4s', minCountDeadline: '8s' } });

before(() => world.start());
after(() => world.end());

test('a launch that fails says what the agent said', async () => {
  const { status, body } = await world.call('POST', '/v1/clusters', {
    name: 'still', orchestrator: 'none', nodeProvisioningMode: 'all-or-nothing', instanceGroups: [{ name: 'gpu', instanceCount: 1, provider: 'local' }],
  });
  assert.equal(status, 201, JSON.stringify(body));
  const failed = await until('the creation failed', async () => {
    const cluster = await world.get('/v1/clusters/still');
    return cluster.failureMessage && cluster;
  }, 120000);
  assert.match(failed.failureMessage, /service hp-agent ended with exit code 2: .*(no-such-option|--help)/);
});
