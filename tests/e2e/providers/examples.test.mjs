// The examples of docs/examples/providers follow the protocol of hpd(8). The command lines below them are a fake
// (tests/support/fake-clouds): what real ones answer is not proven here.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Clouds } from '../lib/clouds.mjs';
import { schema } from '../lib/provider_schema.mjs';

const worlds = [];
after(() => worlds.forEach((world) => world.end()));
const open = () => worlds[worlds.push(new Clouds()) - 1];

const launch = (key = 'launch/1', instanceId = 'i-1') => ({ key, instanceId, cluster: 'c', group: 'g', node: 'g-1', server: 'http://127.0.0.1:1', token: 'hfe_secret' });

const kinds = [
  {
    name: 'aws-ec2', launchWord: 'run-instances', rebootWord: 'reboot-instances', refusals: [
      ['An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation: no capacity', 3],
      ['An error occurred (RequestLimitExceeded) when calling the RunInstances operation: slow down', 4],
      ['An error occurred (UnauthorizedOperation) when calling the RunInstances operation', 5],
      ['An error occurred (SomethingElse) when calling the RunInstances operation', 1]],
    trouble: [{ status: { SystemStatus: { Status: 'impaired' } } }, /SystemStatus impaired/],
  },
  {
    name: 'openstack', launchWord: 'create', rebootWord: '--hard', refusals: [
      ['No valid host was found. There are not enough hosts available. (HTTP 500)', 3], ['Quota exceeded for cores (HTTP 403)', 3],
      ['Service Unavailable (HTTP 503)', 4], ['No flavor with a name or ID of g exists.', 5], ['what is this', 1]],
    trouble: [{ status: 'ERROR', fault: { message: 'disk is full' } }, /ERROR: disk is full/],
  },
  {
    name: 'maas', launchWord: 'allocate', rebootWord: 'power-on', own: [{ id: 'abc', status: 'Ready' }, { id: 'abd', status: 'Ready' }], refusals: [
      ['No available machine matches constraints', 3], ['503 Service Unavailable', 4], ['Authorization Error: Invalid API key', 5], ['what is this', 1]],
    trouble: [{ status: 'Failed deployment' }, /Failed deployment/],
  },
  {
    name: 'ipmi', launchWord: 'bootdev', rebootWord: 'cycle', own: [{ id: 'm1', bmc: '10.1.0.1' }, { id: 'm2', bmc: '10.1.0.2' }], refusals: [
      ['Error: Unable to establish IPMI v2 / RMCP+ session', 4], ['RAKP 2 HMAC is invalid', 5], ['what is this', 1]],
    trouble: [{ on: false }, /machine is off/],
  },
];

for (const kind of kinds) {
  const run = (world, ...rest) => {
    const done = world.run(kind.name, ...rest);
    if (done.answer && done.code === 0) schema.check(rest[0] === 'describe' ? 'describeAnswer' : 'launchAnswer', done.answer);
    return done;
  };
  const prepared = () => {
    const world = open();
    world.own(...(kind.own ?? []));
    return world;
  };

  test(`${kind.name}: a machine is launched once, seen, rebooted once, and ended once`, () => {
    const world = prepared();
    const before = world.all().length;
    const made = run(world, 'launch', launch());
    assert.equal(made.code, 0, made.error);
    const { ref } = made.answer;
    assert.ok(ref);
    const again = run(world, 'launch', launch());
    assert.deepEqual([again.code, again.answer.ref], [0, ref]);
    const withToken = run(world, 'launch', { ...launch(), token: 'hfe_secret_2' });
    assert.deepEqual([withToken.code, withToken.answer?.ref], [0, ref], withToken.error);
    assert.equal(world.all().length, kind.own ? before : 1, 'one machine for one key');
    assert.match(world.machine(ref).data, /hfe_secret/);
    // by the provider's id, and by ours where the answer to the launch was lost
    for (const about of [{ ref }, {}]) {
      const seen = run(world, 'describe', about);
      assert.deepEqual([seen.code, seen.answer?.state, seen.answer?.ref], [0, 'running', ref], seen.error);
    }
    const boots = () => world.calls(kind.rebootWord).length;
    const start = boots();
    assert.equal(run(world, 'reboot', { ref, key: 'reboot/1' }).code, 0);
    assert.equal(boots(), start + 1);
    if (kind.name !== 'maas') {
      assert.equal(run(world, 'reboot', { ref, key: 'reboot/1' }).code, 0);
      assert.equal(boots(), start + 1, 'a key that was used reboots nothing');
    }
    assert.equal(run(world, 'reboot', { ref, key: 'reboot/2' }).code, 0);
    assert.ok(boots() > start + 1);
    const [broken, words] = kind.trouble;
    world.change(ref, broken);
    assert.match(run(world, 'describe', { ref }).answer.trouble, words);
    assert.equal(run(world, 'terminate', { ref, key: 'terminate/1' }).code, 0);
    assert.ok([0, 6].includes(run(world, 'terminate', { ref, key: 'terminate/1' }).code), 'what is gone is gone');
    const gone = run(world, 'describe', { ref });
    assert.ok(gone.code === 6 || gone.answer.state === 'gone', JSON.stringify(gone));
  });

  if (kind.name === 'aws-ec2')
    test('aws-ec2: what EC2 has scheduled is said with its date', () => {
      const world = prepared();
      const { ref } = run(world, 'launch', launch()).answer;
      const events = () => {
        const done = world.run('aws-ec2', 'events', { instanceId: undefined });
        assert.equal(done.code, 0, done.error);
        schema.check('eventsAnswer', done.answer);
        return done.answer.events;
      };
      assert.deepEqual(events(), []);
      const planned = (Code, Description) => ({ InstanceEventId: `event-${Code}`, Code, Description, NotBefore: '2026-12-05T10:00:00.000Z' });
      world.change(ref, { status: { InstanceId: ref, Events: [planned('instance-retirement', 'degraded hardware'), planned('system-reboot', '[Completed] done')] } });
      assert.deepEqual(events(), [{ id: 'event-instance-retirement', ref, kind: 'retirement', at: '2026-12-05T10:00:00.000Z', detail: 'EC2 has scheduled instance-retirement: degraded hardware' }]);
    });

  test(`${kind.name}: a machine that nobody knows is exit code 6, a request that is none is 5`, () => {
    const world = prepared();
    for (const action of ['describe', 'reboot', 'terminate']) assert.equal(run(world, action, { key: 'k/1', instanceId: 'i-none' }).code, 6, action);
    for (const bad of ['', 'no JSON', '[]', '{"version": 2}', '{"version": 1, "action": "sing", "instanceId": "i-1"}', '{"version": 1, "action": "launch", "instanceId": "i-1"}']) {
      const done = run(world, 'launch', {}, bad);
      assert.equal(done.code, 5, bad);
      assert.match(done.error, /request/);
    }
  });

  test(`${kind.name}: what a launch is refused with has its exit code`, () => {
    const world = prepared();
    for (const [error, code] of kind.refusals) {
      world.fail(kind.launchWord, error);
      const done = run(world, 'launch', launch());
      assert.deepEqual([done.code, done.error.slice(0, 20)], [code, error.slice(0, 20)], error);
    }
    world.fail();
    assert.equal(run(world, 'launch', launch()).code, 0, 'the same key works as soon as the cause is gone');
    for (const machine of world.all().filter((m) => m.status === 'Ready')) world.change(machine.id, { status: 'New' });
    if (!kind.own) return;
    run(world, 'launch', launch('launch/2', 'i-2'));
    assert.equal(run(world, 'launch', launch('launch/3', 'i-3')).code, 3, 'no machine is left');
  });
}
