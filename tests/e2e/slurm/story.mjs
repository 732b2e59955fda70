// The stories that the demonstration does not tell, against a real Slurm: people's own drains, near misses, program
// faults, recovery switched off, hpd killed in mid-repair, slurmctld away, hpd away while an agent has something to say. They are the
// same whichever way hpd speaks to Slurm: story.test.mjs, story_ssh.test.mjs and story_rest.test.mjs run them.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hpctlPath } from '../lib/programs.mjs';
import { FELL_OFF, World, XID, until } from '../lib/world.mjs';

export function stories(way) {
  let world;
  before(async () => {
    // Four nodes that break one after another are a rack to the breaker: it has a test of its own.
    world = await new World({ way, recovery: { breakerMin: 100 } }).start();
  });
  after(() => world?.end());

  test('a program fault is recorded and costs the node nothing', async () => {
    world.kernel('gpu-1', XID(31, 'Ch 00000023, intr 00000000. MMU Fault: ENGINE GRAPHICS faulted'));
    await until('the verdict', () => world.json('node', 'verdicts', 'gpu-1').some((v) => v.code === 'xid.31'));
    const why = await until('an explanation', () => {
      const e = world.json('node', 'explain', 'gpu-1');
      return e.decision && e;
    });
    assert.ok(['none', 'watch'].includes(why.decision.action), why.decision.action);
    assert.equal(world.node('gpu-1').state, 'ready');
    assert.deepEqual(world.operations('gpu-1').filter((o) => o.kind !== 'launch'), []);
    assert.match(world.hpctl('node', 'explain', 'gpu-1').out, /31/);
  });

  test("a person's drain is never touched, even under a fatal fault", async () => {
    world.slurmRun('scontrol', 'update', 'NodeName=gpu-1', 'State=DRAIN', 'Reason=disk swap, ask Ann');
    world.kernel('gpu-1', FELL_OFF);
    // However the two race: the fault is decided on, and the person's drain stands.
    const why = await until('a decision that respects it', () => {
      const e = world.json('node', 'explain', 'gpu-1');
      return e.decision?.code === 'xid.79' && !['reboot', 'replace'].includes(e.decision.action) && e;
    });
    assert.deepEqual(world.slurmNode('gpu-1'), { state: 'IDLE+DRAIN', reason: 'disk swap, ask Ann' });
    assert.match(why.text, /disk swap|drain|person/i);
    assert.deepEqual(world.operations('gpu-1').filter((o) => o.kind === 'reboot' && o.state === 'succeeded'), []);
    // The person gives it back: now the fault that is still there is dealt with.
    world.slurmRun('scontrol', 'update', 'NodeName=gpu-1', 'State=RESUME');
    await world.repaired('gpu-1', 'reboot');
  });

  test('Action:Replace set by a person in Slurm is carried out; a near miss is only warned about', async () => {
    const old = world.node('gpu-2').instanceId;
    // The site moves gpu-2 in its file: that stays, until another machine stands there.
    const conf = join(world.slurm, 'slurm.conf');
    writeFileSync(conf, readFileSync(conf, 'utf8').replace(/^(NodeName=gpu-2 .*)NodeAddr=127.0.0.1/m, '$1NodeAddr=127.0.0.2'));
    world.slurmRun('scontrol', 'reconfigure');
    world.slurmRun('scontrol', 'update', 'NodeName=gpu-3', 'State=FAIL', 'Reason=action:replace');
    world.slurmRun('scontrol', 'update', 'NodeName=gpu-2', 'State=FAIL', 'Reason=Action:Replace');
    await world.repaired('gpu-2', 'replace');
    const now = world.node('gpu-2');
    assert.notEqual(now.instanceId, old);
    assert.equal(now.name, 'gpu-2');
    const [operation] = world.operations('gpu-2');
    assert.match(operation.actor, /^slurm:/);
    const misses = await until('the warning', () => {
      const found = world.events({ node: 'gpu-3', kind: 'near-miss' });
      return found.length > 0 && found;
    });
    assert.equal(misses.length, 1, 'once, not at every look');
    assert.match(misses[0].message, /Action:Replace/);
    const hinted = await until('the warning in the reason', () => {
      const { reason } = world.slurmNode('gpu-3');
      return reason.includes('holdfast') && reason;
    });
    assert.match(hinted, /^action:replace \(holdfast: \w+, use Action:Reboot or Action:Replace, state=fail\)$/);
    assert.deepEqual(world.operations('gpu-3').filter((o) => o.kind !== 'launch'), []);
    world.slurmRun('scontrol', 'update', 'NodeName=gpu-3', 'State=RESUME');
    await until('gpu-3 idle', () => world.slurmNode('gpu-3').state === 'IDLE');
  });

  test('an address that Slurm was told is told again when Slurm has forgotten it', async () => {
    const address = () => / NodeAddr=(\S+)/.exec(world.slurmRun('scontrol', 'show', 'node', '-o', 'gpu-2'))[1];
    const told = () => world.events({ node: 'gpu-2', kind: 'scheduler-address' });
    assert.equal(address(), '127.0.0.1', 'as the provider says, whatever the file has');
    assert.deepEqual(told(), []);
    world.slurmRun('scontrol', 'reconfigure');
    const [event] = await until('it is told', () => told().length > 0 && told());
    assert.match(event.message, /showed 127\.0\.0\.2, .* told 127\.0\.0\.1 again/);
    assert.equal(address(), '127.0.0.1');
    assert.equal(world.events({ kind: 'scheduler-address' }).length, 1, 'one node, once');
    await until('gpu-2 idle', () => world.slurmNode('gpu-2').state === 'IDLE');
  });

  test('a node that Slurm gave up by itself is given back after its checks; a third time in a day it is not', async () => {
    const giveUp = () => world.slurmRun('scontrol', 'update', 'NodeName=gpu-3', 'State=DOWN', 'Reason=Node unexpectedly rebooted');
    const returns = () => world.operations('gpu-3').filter((o) => o.kind === 'release' && o.code === 'node.reboot.unexpected');
    for (const times of [1, 2]) {
      giveUp();
      await until('it is given back', () => returns().filter((o) => o.state === 'succeeded').length === times && world.slurmNode('gpu-3').state === 'IDLE');
    }
    assert.equal(world.node('gpu-3').state, 'ready');
    giveUp();
    const why = await until('it is told', () => {
      const e = world.json('node', 'explain', 'gpu-3');
      return e.explanation === 'downed-by-scheduler' && e;
    });
    assert.match(why.text, /3 times within 24 h, so a person has to look/);
    assert.equal(returns().length, 2);
    assert.equal(world.slurmNode('gpu-3').state, 'DOWN');
    world.slurmRun('scontrol', 'update', 'NodeName=gpu-3', 'State=RESUME');
    await until('gpu-3 idle', () => world.slurmNode('gpu-3').state === 'IDLE');
  });

  test('NodeRecovery None only marks; release gives the node back', async () => {
    assert.equal(world.hpctl('cluster', 'update', '--node-recovery', 'None').code, 0);
    world.kernel('gpu-4', FELL_OFF);
    await until('held and marked', () => world.node('gpu-4').state === 'held' && world.slurmNode('gpu-4').state.includes('DRAIN'));
    assert.match(world.slurmNode('gpu-4').reason, /^holdfast: /);
    const { decision } = world.json('node', 'explain', 'gpu-4');
    assert.equal(decision.action, 'mark');
    assert.deepEqual(world.operations('gpu-4').filter((o) => ['reboot', 'replace'].includes(o.kind)), []);
    const released = world.hpctl('node', 'release', 'gpu-4', '--reason', 'looked at it', '--wait', '--timeout', '60s');
    assert.equal(released.code, 0, released.err);
    await until('back in service', () => world.node('gpu-4').state === 'ready' && world.slurmNode('gpu-4').state === 'IDLE');
    assert.equal(world.hpctl('cluster', 'update', '--node-recovery', 'Automatic').code, 0);
  });

  test('a verdict that was seen while hpd was away is delivered once', async () => {
    const instance = world.node('gpu-1').instanceId;
    const before = world.json('node', 'verdicts', 'gpu-1').length;
    await world.killHpd();
    const file = (path) => `${world.dir}/instances/${instance}/${path}`;
    appendFileSync(file('kmsg'), XID(43, 'Ch 00000020, engmask 00000101') + '\n');
    await until('the agent has it in its spool', () => readFileSync(file('agent/spool')).includes('xid.43'));
    await until('the agent has failed to deliver', () => /server does not take our messages/.test(readFileSync(file('log/hp-agent.log'), 'utf8')));
    await world.startHpd();
    await until('the spooled verdict', () => world.json('node', 'verdicts', 'gpu-1').filter((v) => v.code === 'xid.43').length === 1);
    await until('a heartbeat after it', () => !world.node('gpu-1').live.silent);
    assert.equal(world.json('node', 'verdicts', 'gpu-1').length, before + 1);
  });

  test('slurmctld away in mid-repair: the repair waits, then ends well', async () => {
    world.kernel('gpu-2', FELL_OFF);
    await until('a repair', () => world.operations('gpu-2').some((o) => ['pending', 'running'].includes(o.state)));
    world.lab('end', world.slurm, 'slurmctld');
    await until('hpd says so', () => world.events({ kind: 'scheduler-down' }).length > 0);
    world.lab('begin', world.slurm, 'slurmctld');
    await world.repaired('gpu-2', 'reboot');
    await until('hpd says that it is back', () => world.events({ kind: 'scheduler-back' }).length > 0);
  });

  test('hpd killed again and again in mid-repair: one reboot, one replacement, no more', async () => {
    for (const kind of ['reboot', 'replace']) {
      const boots = world.events({ node: 'gpu-3', kind: 'agent-booted' }).length;
      const launched = world.events({ node: 'gpu-3', kind: 'instance-launched' }).length;
      const finished = world.operations('gpu-3').filter((o) => o.kind === kind && o.state === 'succeeded').length;
      world.kernel('gpu-3', FELL_OFF);
      const steps = kind === 'reboot' ? ['mark', 'drain', 'reboot', 'join', 'verify'] : ['mark', 'terminate', 'launch', 'join', 'verify'];
      for (const step of steps) {
        // Killed when the step is seen at work or over: wherever that is, the next start goes on from there.
        await until(`${kind}: ${step}`, () => {
          const op = world.operations('gpu-3').find((o) => o.kind === kind && o.state !== 'succeeded' && o.steps);
          if (!op) return world.operations('gpu-3').filter((o) => o.kind === kind && o.state === 'succeeded').length > finished;
          return op.steps.find((s) => s.name === step)?.state !== 'waiting';
        });
        await world.killHpd();
        await world.startHpd();
      }
      await world.repaired('gpu-3', kind, finished);
      assert.equal(world.operations('gpu-3').filter((o) => o.kind === kind && o.state === 'succeeded').length, finished + 1);
      assert.equal(world.events({ node: 'gpu-3', kind: 'instance-launched' }).length - launched, kind === 'replace' ? 1 : 0);
      if (kind === 'reboot') assert.equal(world.events({ node: 'gpu-3', kind: 'agent-booted' }).length - boots, 1);
    }
  });

  test('an agent that falls silent is "no verdict", never healthy', async () => {
    const { readdirSync, readFileSync } = await import('node:fs');
    const instance = world.node('gpu-4').instanceId;
    // Stop (not kill: its machine would start it again) every hp-agent of that instance.
    const pids = readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => {
      try {
        const line = readFileSync(`/proc/${p}/cmdline`, 'utf8');
        return line.includes('hp-agent') && line.includes(instance) && !line.includes('machine\0');
      } catch {
        return false;
      }
    });
    assert.equal(pids.length, 1);
    process.kill(Number(pids[0]), 'SIGSTOP');
    try {
      await until('unknown health', () => world.node('gpu-4').health === 'unknown');
      assert.equal(world.node('gpu-4').live.silent, true);
      assert.ok(world.events({ node: 'gpu-4', kind: 'agent-silent' }).length > 0);
      assert.equal(world.node('gpu-4').state, 'ready', 'Slurm still hears the node: nothing is repaired');
    } finally {
      process.kill(Number(pids[0]), 'SIGCONT');
    }
    await until('healthy again', () => world.node('gpu-4').health === 'healthy');
  });

  test('jobs: a fatal fault requeues the batch job, and it runs again', async () => {
    const job = world.slurmRun('sbatch', '--parsable', '-N1', '--requeue', '-w', 'gpu-1', '-o', '/dev/null', '--wrap', 'sleep 600');
    await until('it runs', () => world.slurmRun('squeue', '-h', '-j', job, '-o', '%T') === 'RUNNING');
    const finished = world.operations('gpu-1').filter((o) => o.kind === 'replace' && o.state === 'succeeded').length;
    await until('a job snapshot has seen it run', () => world.json('job', 'describe', job)?.state === 'RUNNING');
    world.kernel('gpu-1', FELL_OFF); // it was rebooted for the same GPU before: now it is replaced
    await world.repaired('gpu-1', 'replace', finished).catch(async () => {
      await until('replaced', () => world.operations('gpu-1').filter((o) => o.kind === 'replace' && o.state === 'succeeded').length > finished);
    });
    await until('it runs again', () => world.slurmRun('squeue', '-h', '-j', job, '-o', '%T') === 'RUNNING');
    assert.ok(world.events({ node: 'gpu-1', kind: 'jobs' }).length > 0);
    const seen = await until('both starts are told', () => {
      const found = world.json('job', 'describe', job);
      return found?.runs.length === 2 && found.runs[1].state === 'RUNNING' && found;
    });
    const [first, second] = seen.runs;
    assert.deepEqual([first.restart, first.nodes, first.state, second.restart, second.nodes], [0, 'gpu-1', 'REQUEUED', 1, 'gpu-1']);
    assert.match(first.why, /^requeued by Holdfast because of the replace of gpu-1 \(xid\.79, asked for by policy\)$/);
    assert.ok(first.endedAt > first.startedAt && second.startedAt >= first.endedAt, JSON.stringify(seen.runs));
    assert.equal(second.endedAt, undefined);
    assert.ok(seen.goodput.lostNodeSecondsAtMost >= seen.goodput.lostNodeSeconds + first.lostSecondsAtMost - 1, JSON.stringify(seen.goodput));
    assert.ok(seen.goodput.share >= 0 && seen.goodput.share <= 1 && seen.goodput.startsNotSeen === 0);
    assert.match(seen.goodput.method, /tells of no progress/);
    assert.match(world.hpctl('job', 'describe', job).out, /Its starts\n(.*\n)*.*requeued by Holdfast because of the replace of gpu-1/);
    assert.match(world.hpctl('job', 'list').out, new RegExp(`^${job} .* ${seen.restarts} `, 'm'));
    world.slurmRun('scancel', job);
  });

  test('hpctl tells scripts what happened by its exit code', () => {
    assert.equal(world.hpctl('node', 'describe', 'gpu-99').code, 5);
    assert.equal(world.hpctl('node', 'reboot').code, 2);
    assert.equal(world.run('env', 'HPCTL_TOKEN=hfa_wrong', hpctlPath, 'cluster', 'list').code, 4);
    assert.equal(world.hpctl('--server', 'http://127.0.0.1:1', 'cluster', 'list').code, 3);
    assert.equal(world.hpctl('node', 'release', 'gpu-2').code, 7);
    assert.equal(world.hpctl('--server', 'http://127.0.0.1:1', 'version').code, 3);
    assert.equal(world.hpctl('cluster', 'describe').code, 0);
    // Every list, as the server takes it and not as hpctl's table of verbs has it.
    for (const words of ['cluster list', 'node list', 'node verdicts gpu-1', 'event list', 'operation list'])
      for (const limit of [[], ['--limit', '1'], ['--limit', '0']]) assert.equal(world.hpctl(...words.split(' '), ...limit).code, 0, words);
    assert.equal(world.hpctl('token', 'list').code, 0);
    assert.equal(world.hpctl('version').code, 0);
    assert.match(world.hpctl('cluster', 'describe').out, /Waiting for you[\s\S]*Going on[\s\S]*Instance groups[\s\S]*Last events/);
    assert.doesNotThrow(() => JSON.parse(world.hpctl('node', 'list', '-o', 'json').out));
    assert.match(world.hpctl('node', 'list', '-o', 'yaml').out, /name: gpu-1/);
  });

  test('deleting the cluster ends every machine', async () => {
    assert.equal(world.hpctl('cluster', 'delete', 'demo').code, 2, 'asks first');
    assert.equal(world.hpctl('cluster', 'delete', 'demo', '--yes').code, 0);
    await until('gone', () => world.hpctl('cluster', 'describe', 'demo').code === 5);
    const { readdirSync, existsSync } = await import('node:fs');
    for (const id of readdirSync(`${world.dir}/instances`)) {
      const file = `${world.dir}/instances/${id}/machine.pid`;
      const { readFileSync } = await import('node:fs');
      const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[0]) : 0;
      assert.ok(!pid || !existsSync(`/proc/${pid}`), `machine ${id} still runs`);
    }
  });
}
