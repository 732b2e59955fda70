// What others know of nodes, from real parts to the policy: an epilog of Slurm that reports failed jobs, step times of a job's ranks, and a real
// Alertmanager, each with a token that may do no more.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { hpctlPath, root } from '../lib/programs.mjs';
import { World, until } from '../lib/world.mjs';

const examples = join(root, 'docs/examples/slurm');
const users = process.getuid() === 0 ? false : 'jobs of several users need a Slurm that runs as root';
const alertmanagerPath = join(root, 'tests/support/alertmanager');
const noAlertmanager = spawnSync(alertmanagerPath, ['check']).status === 0 ? false : 'Alertmanager is not installed, and Debian\'s archive is not reached';
let world, path, secret;

before(async () => {
  world = new World({ recovery: { observeInterval: '200ms' } });
  chmodSync(world.dir, 0o711); // jobs of others have their scripts below it
  const env = join(world.dir, 'reporter.env'), epilog = join(world.dir, 'epilog');
  writeFileSync(epilog, `#!/bin/sh\nexport HOLDFAST_REPORTER_ENV=${env}\n${join(examples, 'report-failed-job')} >>${world.dir}/epilog.log 2>&1\necho "$SLURM_JOB_ID $?" >>${world.dir}/epilog.done\n`);
  chmodSync(epilog, 0o755);
  process.env.LAB_EPILOG_SLURMCTLD = epilog;
  await world.start();
  path = [dirname(hpctlPath), process.env.PATH].join(delimiter);
  secret = world.json('token', 'create', '--role', 'reporter', '--name', 'epilog').secret;
  writeFileSync(env, `HOLDFAST_CLUSTER=demo\nHPCTL_URL=${world.url}\nHPCTL_TOKEN=${secret}\nPATH=${path}\nHOME=${world.dir}\nSLURM_CONF=${world.env.SLURM_CONF}\n`, { mode: 0o600 });
});
after(() => world?.end());

const reports = (node) => world.json('node', 'verdicts', node, '--state', 'open').filter((v) => v.source === 'report');
const read = (name) => { try { return readFileSync(join(world.dir, name), 'utf8'); } catch { return ''; } };
// A job of that user, to its end and that of its epilog, which went well.
async function run(user, nodes, script, { cancel } = {}) {
  const uid = spawnSync('id', ['-u', user], { encoding: 'utf8' }).stdout.trim();
  const job = world.slurmRun('sbatch', '--parsable', `--uid=${uid}`, '-D', '/tmp', '-N', String(nodes.length), '-w', nodes.join(','), '-o', '/dev/null', '--wrap', script);
  if (cancel) {
    await until(`job ${job} runs`, () => world.slurmRun('squeue', '-h', '-j', job, '-o', '%T') === 'RUNNING');
    world.slurmRun('scancel', job);
  }
  const done = await until(`the epilog of job ${job}`, () => read('epilog.done').split('\n').find((line) => line.startsWith(`${job} `)));
  assert.equal(done, `${job} 0`, read('epilog.log'));
  return job;
}

test('jobs that fail are reported with their user, on each of their nodes', { skip: users }, async () => {
  await run('daemon', ['gpu-1'], 'true');
  await run('daemon', ['gpu-1'], 'sleep 600', { cancel: true });
  assert.deepEqual(reports('gpu-1'), []);
  const first = await run('daemon', ['gpu-1', 'gpu-2'], 'exit 3');
  for (const node of ['gpu-1', 'gpu-2']) {
    const [verdict] = await until(`${node} is reported`, () => reports(node).length === 1 && reports(node));
    assert.deepEqual([verdict.code, verdict.device, verdict.rawLine], ['report.job-failed', 'daemon', `token:epilog: job ${first} ended with 3:0`]);
  }
  // One user's jobs are that user's; three users' are the node's.
  await run('daemon', ['gpu-2'], 'exit 3');
  await until('the second is there', () => reports('gpu-2').length === 2);
  assert.equal(world.json('node', 'explain', 'gpu-2').explanation?.text ?? '', '');
  await run('games', ['gpu-2'], 'kill -SEGV $$');
  await run('mail', ['gpu-2'], 'exit 1');
  await until('three users', () => new Set(reports('gpu-2').map((v) => v.device)).size === 3);
  await until('gpu-2 is watched', () => world.node('gpu-2').health === 'degraded');
  assert.equal(world.node('gpu-2').state, 'ready');
  assert.equal(world.node('gpu-3').health, 'healthy');
});

test('step times of ranks name the node that slows jobs down', async () => {
  const env = { ...process.env, ...world.env, PATH: path, HPCTL_TOKEN: secret, HOLDFAST_CLUSTER: 'demo' };
  const job = (id, nodes) => {
    const rank = 'case $SLURMD_NODENAME in gpu-3) echo gpu-3 905.4 ;; *) echo $SLURMD_NODENAME 30$SLURM_LOCALID.2 ;; esac';
    const run = spawnSync('sh', ['-c', `srun -N ${nodes.length} -n ${nodes.length * 2} -w ${nodes.join(',')} sh -c '${rank}' | ${join(examples, 'report-step-times')} ${id}`], { encoding: 'utf8', env });
    assert.equal(run.status, 0, run.stderr + run.stdout);
    return run.stdout;
  };
  assert.match(job('a-1', ['gpu-1', 'gpu-3', 'gpu-4']), /^1 report taken/);
  assert.match(job('a-1', ['gpu-1', 'gpu-3', 'gpu-4']), /^1 report taken/); // of one job once
  assert.match(job('a-2', ['gpu-3', 'gpu-4']), /^0 reports taken/); // of two nobody knows which is the odd one
  assert.match(job('a-3', ['gpu-2', 'gpu-3', 'gpu-4']), /^1 report taken/);
  const slow = reports('gpu-3').filter((v) => v.code === 'report.straggler');
  assert.deepEqual(slow.map((v) => v.device).sort(), ['a-1', 'a-3']);
  assert.match(slow[0].rawLine, /^token:epilog: a step takes 905 ms here; the median of the job's nodes is 30\d ms$/);
  for (const node of ['gpu-1', 'gpu-2', 'gpu-4']) assert.deepEqual(reports(node).filter((v) => v.code === 'report.straggler'), []);
  await until('gpu-3 is watched', () => world.node('gpu-3').health === 'degraded');
});

test('a reporter reads nothing, repairs nothing and is never certain', () => {
  const as = (...args) => spawnSync(hpctlPath, args, { encoding: 'utf8', env: { ...process.env, ...world.env, HPCTL_TOKEN: secret } });
  for (const args of [['node', 'list', '--cluster', 'demo'], ['node', 'reboot', 'gpu-1', '--cluster', 'demo'], ['cluster', 'list'],
    ['node', 'report', 'gpu-1', 'certain', 'it is broken', '--cluster', 'demo']])
    assert.equal(as(...args).status, 4, args.join(' '));
  assert.equal(as('node', 'report', 'gpu-1', 'suspected', 'it may be broken', '--cluster', 'demo', '--hours', '1').status, 0);
});

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

test('an Alertmanager reports what fires, and takes back what is resolved', { skip: noAlertmanager }, async () => {
  const port = await freePort(), file = join(world.dir, 'alertmanager.yml');
  writeFileSync(file, JSON.stringify({
    route: { receiver: 'holdfast', group_by: ['...'], group_wait: '0s', group_interval: '1s', repeat_interval: '1m' },
    receivers: [{ name: 'holdfast', webhook_configs: [{ url: `${world.url}/v1/clusters/demo/alerts`, send_resolved: true, http_config: { authorization: { credentials: secret } } }] }],
  }));
  const alertmanager = spawn(alertmanagerPath, [`--config.file=${file}`, `--storage.path=${join(world.dir, 'alertmanager')}`, `--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address='], { stdio: 'ignore' });
  try {
    const url = `http://127.0.0.1:${port}`;
    await until('Alertmanager is ready', async () => (await fetch(`${url}/-/ready`)).ok);
    const startsAt = new Date(Date.now() - 1000).toISOString();
    const fire = (more = {}) => fetch(`${url}/api/v2/alerts`, { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ labels: { alertname: 'GpuSlow', instance: 'gpu-4:9400', holdfast_device: '0000:4e:00' }, annotations: { summary: 'GPU 3 is\nslow' }, startsAt, ...more }]) });
    assert.ok((await fire()).ok);
    const [verdict] = await until('gpu-4 is suspected', () => reports('gpu-4').length === 1 && reports('gpu-4'));
    assert.deepEqual([verdict.code, verdict.device, verdict.rawLine], ['report.suspected', '0000:4e:00', 'token:epilog: GpuSlow: GPU 3 is slow']);
    await until('gpu-4 is watched', () => world.node('gpu-4').health === 'degraded');
    assert.ok((await fire({ endsAt: new Date().toISOString() })).ok);
    await until('it is taken back', () => reports('gpu-4').length === 0);
    await until('gpu-4 is healthy', () => world.node('gpu-4').health === 'healthy');
    assert.ok(world.events({ node: 'gpu-4' }).some((e) => /report\.suspected 0000:4e:00 resolved by token:epilog/.test(e.message)));
  } finally {
    alertmanager.kill();
  }
});
