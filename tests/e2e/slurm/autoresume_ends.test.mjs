// srun --auto-resume on a real Slurm: what follows a resume. What becomes of the node its group may say, where the batch
// script runs is what it says itself, and the end is srun's own.
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';
import { JOB_MS, Steps, inOrder } from './steps.mjs';

let world;
let steps;

before(async () => {
  process.env.LAB_PROLOG_FLAGS = process.env.AUTO_RESUME_PROLOG_FLAGS ?? '';
  world = new World({ recovery: { breakerMin: 100, replacesMax: 100 } });
  world.wayConfig = () => ({ jobSnapshotInterval: '2s' });
  await world.start();
  world.allowAutoResume();
  steps = new Steps(world);
});
after(() => world?.end());

// A node that breaks again is rebooted first, and replaced later.
const repairs = (node) => world.operations(node).filter((o) => ['reboot', 'replace'].includes(o.kind) && o.state === 'succeeded').length;
const repaired = (node, earlier) => until(`${node} is repaired`, () => repairs(node) > earlier && world.node(node).state === 'ready' && world.slurmNode(node).state === 'IDLE', JOB_MS);

test('where the group says autoResumeReplaces the broken node is replaced, as on HyperPod, and the step goes on', async () => {
  const says = (value) => {
    const exported = world.hpctl('cluster', 'export', '-o', 'json');
    assert.equal(exported.code, 0, exported.err);
    const cluster = JSON.parse(exported.out);
    for (const group of cluster.instanceGroups) group.autoResumeReplaces = value;
    writeFileSync(steps.file('cluster.yaml'), JSON.stringify(cluster));
    const run = world.hpctl('apply', '-f', steps.file('cluster.yaml'), '--yes');
    assert.equal(run.code, 0, run.err);
    assert.equal(world.json('cluster', 'describe', 'demo').instanceGroups[0].autoResumeReplaces, value);
  };
  says(true);
  const job = steps.submit('replaced');
  await steps.trains('replaced');
  await steps.isKnown(job);
  const lost = steps.other(job), old = world.node(lost).instanceId;
  world.kernel(lost, FELL_OFF);
  inOrder(await steps.over(job, 'replaced'), [/ResumeAction=RETRYSTEP/, /Job Expansion complete/, /attempt 1 from [1-9]/, /trained/, /srun ended 0/]);
  await repaired(lost, 0);
  assert.deepEqual(world.operations(lost).map((o) => o.kind).filter((kind) => kind !== 'launch'), ['replace']);
  assert.notEqual(world.node(lost).instanceId, old);
  assert.match(world.events({ node: lost, kind: 'decision' }).map((e) => e.message).join(), /auto-resume-replaces/);
  says(false);
});

test('the node of the batch script is the one that it runs on, whatever Slurm says after a resume and a reconfigure', async (t) => {
  const drain = (node, state) => world.slurmRun('scontrol', 'update', `NodeName=${node}`, `State=${state}`, ...(state === 'DRAIN' ? ['Reason=fan, ask Ann'] : []));
  drain('gpu-4', 'DRAIN'); // so that gpu-1 comes, which stands before all others
  const job = steps.submit('host', { steps: 150, options: ['-w', 'gpu-[2-3]'] });
  await steps.trains('host');
  await steps.isKnown(job);
  const host = steps.batchHost(job);
  assert.equal(host, 'gpu-2');
  const earlierThere = repairs('gpu-3');
  world.kernel('gpu-3', FELL_OFF);
  await until('it was resumed', () => /attempt 1 from [1-9]/.test(steps.read('host.out')), JOB_MS);
  assert.deepEqual(steps.nodes(job), ['gpu-1', 'gpu-2']);
  world.slurmRun('scontrol', 'reconfigure');
  t.diagnostic(`Slurm says now that the batch script runs on ${steps.batchHost(job)}`);
  await repaired('gpu-3', earlierThere);
  drain('gpu-4', 'RESUME');
  const earlier = repairs(host);
  world.kernel(host, FELL_OFF);
  const text = await steps.over(job, 'host');
  inOrder(text, [/attempt 1 from/, /Job failed: the node of the batch script is lost: the job is requeued/, /attempt 0 from [1-9]/, /trained/, /srun ended 0/]);
  await steps.noHelper();
  await repaired(host, earlier);
});

test('a step that was resumed ends as srun itself does', async () => {
  // One rank of the attempt after a fault fails, when the other one has ended well; the same under srun alone.
  for (const [name, end, code] of [['exit', 'exit 7', 7], ['signal', 'ulimit -c 0; kill -SEGV $$', 139]]) {
    const file = (what) => steps.file(`${name}.${what}`);
    writeFileSync(file('step'), `#!/bin/bash
if [ "$HOLDFAST_AUTO_RESUME_ATTEMPT" = 0 ]; then touch ${file('begun')}.$SLURM_PROCID; sleep 100000; fi
if [ "$SLURM_PROCID" = 1 ]; then touch ${file('well')}; exit 0; fi
until [ -e ${file('well')} ]; do sleep 0.1; done
sleep 2
${end}
`, { mode: 0o755 });
    const run = (how, option) => {
      writeFileSync(file(`${how}.sh`), `#!/bin/bash\nsrun ${option} -N2 -n2 ${file('step')}\necho "srun ended $?"\n`, { mode: 0o755 });
      return world.slurmRun('sbatch', '--parsable', '--no-kill', '-N2', '-o', file(`${how}.out`), file(`${how}.sh`));
    };
    assert.match(await steps.over(run('alone', '--kill-on-bad-exit=1'), `${name}.alone`), new RegExp(`srun ended ${code}\n`));
    rmSync(file('well'));
    const job = run('resumed', '--auto-resume=1');
    await until('it runs', () => existsSync(`${file('begun')}.0`) && existsSync(`${file('begun')}.1`), JOB_MS);
    await steps.isKnown(job);
    const lost = steps.other(job), earlier = repairs(lost);
    world.kernel(lost, FELL_OFF);
    inOrder(await steps.over(job, `${name}.resumed`), [/Attempt number: 1/, /ResumeAction=NONE/, /no node is at fault/, new RegExp(`srun ended ${code}\n`)]);
    await repaired(lost, earlier);
  }
});
