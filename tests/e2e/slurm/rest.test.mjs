// slurmrestd as the way to Slurm: which version it is, what it is not used for, its end and its return, a token that ran out.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';

let world;
before(async () => {
  world = await new World({ way: 'rest' }).start();
});
after(() => world?.end());

const scheduler = () => world.json('cluster', 'describe', 'demo').scheduler;
const writeToken = (text) => writeFileSync(join(world.slurm, 'rest.token'), text, { mode: 0o600 });

test('it is asked what it speaks; what it cannot do is said once', async () => {
  const { state, transport } = await until('the transport', () => {
    const now = scheduler();
    return now.transport?.includes('22.05') && now;
  });
  assert.equal(state, 'up');
  assert.match(transport, /^slurmrestd v0\.0\.38 of Slurm 22\.05\.\d+ at http:\/\/127\.0\.0\.1:\d+; by Slurm's programs: changes of nodes/);
  assert.ok(world.hpctl('cluster', 'describe', 'demo').out.includes(transport));
  world.kernel('gpu-1', FELL_OFF);
  await world.repaired('gpu-1', 'reboot');
  assert.equal(world.log.match(/scheduler connected .*v0\.0\.38 of/g).length, 1, world.log);
});

test('jobs and figures come by it, in the words of the programs', async () => {
  const id = world.slurmRun('sbatch', '--parsable', '-o', '/dev/null', '-J', 'by "rest"', '--array=3', '-w', 'gpu-2', '--wrap', 'sleep 600');
  const job = await until('the job', () => world.json('job', 'list').find((j) => j.id === `${id}_3` && j.state === 'RUNNING'));
  assert.equal(job.name, 'by "rest"');
  assert.equal(job.nodes, 'gpu-2');
  assert.ok(Date.parse(job.startedAt) > 0 && Date.parse(job.submittedAt) > 0);
  const metrics = await (await fetch(`${world.url}/metrics`, { headers: { Authorization: `Bearer ${world.token}` } })).text();
  assert.match(metrics, /^slurm_user_jobs_running\{user="[a-z]+"\} 1$/m);
  assert.match(metrics, /^slurm_scheduler_threads \d+$/m);
  assert.match(metrics, /^slurm_exporter_collector_success\{collector="reservations"\} 1$/m);
  world.slurmRun('scancel', id);
});

test('slurmrestd killed and back: what was begun waits for it', async () => {
  world.lab('end', world.slurm, 'slurmrestd');
  await until('the scheduler is down', () => scheduler().state === 'down');
  assert.match(scheduler().error, /slurmrestd cannot be asked: http:\/\/127\.0\.0\.1/);
  world.kernel('gpu-3', FELL_OFF);
  await until('it is decided', () => world.operations('gpu-3').some((o) => o.kind === 'reboot'));
  assert.equal(world.slurmNode('gpu-3').state, 'IDLE');
  world.lab('begin', world.slurm, 'slurmrestd');
  await world.repaired('gpu-3', 'reboot');
  assert.equal(scheduler().state, 'up');
});

test('a token that ran out is told from a slurmctld that is away; a new one counts at once', async () => {
  const good = readFileSync(join(world.slurm, 'rest.token'), 'utf8');
  writeToken(world.slurmRun('scontrol', 'token', 'lifespan=1'));
  await until('the scheduler is down', () => scheduler().state === 'down' && /rest\.token ran out at/.test(scheduler().error));
  writeToken(good);
  await until('the scheduler is up', () => scheduler().state === 'up');
  world.lab('end', world.slurm, 'slurmctld');
  await until('slurmctld is missed', () => scheduler().state === 'down' && /slurmctld does not answer|is slurmctld up/.test(scheduler().error));
  world.lab('begin', world.slurm, 'slurmctld');
  await until('the scheduler is up', () => scheduler().state === 'up');
});
