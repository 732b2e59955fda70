// Slurm's figures in hpd's metrics, and its jobs, on a real Slurm: what a job snapshot costs it, and what is shown when it is gone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertValid, operations } from '../api/contract.mjs';
import { hpctlPath, root } from '../lib/programs.mjs';
import { World, until } from '../lib/world.mjs';

const PROGRAMS = ['scontrol', 'squeue', 'scancel', 'sacctmgr', 'sdiag', 'sshare'];
let world, calls, configure;

const real = (name) => process.env.PATH.split(delimiter).map((dir) => join(dir, name)).find((path) => existsSync(path));

before(async () => {
  world = new World({ lab: [], cluster: false });
  // Slurm's programs, each of which notes that it was run and with what.
  const bin = join(world.dir, 'bin');
  calls = join(world.dir, 'calls');
  mkdirSync(bin);
  writeFileSync(calls, '');
  for (const name of PROGRAMS) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >>${calls}\nexec ${real(name)} "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  world.options.recovery = { observeInterval: '200ms' };
  configure = (jobSnapshotInterval) => {
    world.options.config = { slurm: { conf: join(world.slurm, 'slurm.conf'), timeout: '10s', binDir: bin, jobSnapshotInterval } };
  };
  configure('1s');
  await world.start();
  const file = join(world.dir, 'cluster.yaml');
  writeFileSync(file, JSON.stringify({ name: 'demo', instanceGroups: [{ name: 'workers', instanceCount: 4, nodeNames: 'gpu-[1-4]', provider: 'manual' }] }));
  assert.equal(world.hpctl('cluster', 'create', '-f', file).code, 0);
});
after(() => world?.end());

const ran = (what) => readFileSync(calls, 'utf8').split('\n').filter((line) => line.startsWith(what)).length;
// Another hpd, with that interval; what was run before does not count.
const again = async (jobSnapshotInterval) => {
  await world.killHpd();
  configure(jobSnapshotInterval);
  world.writeConfig();
  writeFileSync(calls, '');
  await world.startHpd();
};
// A reply as openapi.yaml has it.
const check = (operation, status, value) =>
  assertValid(operations.get(operation).responses[status].content['application/json'].schema, value, `${operation} ${status}`);
const scrape = async () => {
  const reply = await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${world.token}` } });
  assert.equal(reply.status, 200);
  const text = await reply.text();
  const values = {};
  for (const line of text.split('\n').filter((l) => l !== '' && l[0] !== '#')) {
    const at = line.lastIndexOf(' ');
    assert.equal(values[line.slice(0, at)], undefined, `${line} is there twice`);
    values[line.slice(0, at)] = Number(line.slice(at + 1));
  }
  return values;
};
const until_scraped = (what, check) => until(what, async () => {
  const values = await scrape();
  return check(values) && values;
});

test('what Slurm says of itself is in the metrics, under the exporter\'s names', async () => {
  const job = world.slurmRun('sbatch', '--parsable', '-N2', '-w', 'gpu-[1-2]', '-o', '/dev/null', '-J', 'a"b|c\nd', '--wrap', 'sleep 600');
  world.slurmRun('sbatch', '--parsable', '--array=1-7', '--hold', '-o', '/dev/null', '--wrap', 'true');
  world.slurmRun('scontrol', 'update', 'NodeName=gpu-3', 'State=DRAIN', 'Reason=a person');
  world.slurmRun('scontrol', 'create', 'reservation', 'ReservationName=theirs', 'Users=root', 'StartTime=now+1hour', 'Duration=60', 'Nodes=gpu-4');
  const user = world.slurmRun('squeue', '-h', '-j', job, '-o', '%u');
  const queue = `user="${user}",partition="dev"`;
  const values = await until_scraped('the job, the array and the drain are seen', (v) => v[`slurm_queue_running{${queue}}`] === 1 &&
    v[`slurm_user_jobs_pending{user="${user}"}`] === 7 && v['slurm_node_status{node="gpu-3",status="drained",partition="dev"}'] === 1 &&
    v['slurm_reservation_node_count{reservation_name="theirs"}'] === 1);
  // sinfo's own figures of the same moment: nothing changes meanwhile
  const [alloc, idle, other, total] = world.slurmRun('sinfo', '-h', '-o', '%C').split('/').map(Number);
  assert.deepEqual(['alloc', 'idle', 'other', 'total'].map((k) => values[`slurm_cpus_${k}`]), [alloc, idle, other, total]);
  assert.deepEqual(['allocated', 'idle', 'other', 'total'].map((k) => values[`slurm_partition_cpus_${k}{partition="dev"}`]), [alloc, idle, other, total]);
  for (const line of world.slurmRun('sinfo', '-h', '-N', '-O', 'NodeList: ,StateLong: ,CPUsState: ,Memory:').split('\n')) {
    const [node, state, cpus, memory] = line.trim().split(/ +/);
    const labels = `{node="${node}",status="${state}",partition="dev"}`;
    assert.equal(values[`slurm_node_status${labels}`], 1, labels);
    assert.deepEqual(['alloc', 'idle', 'other', 'total'].map((k) => values[`slurm_node_cpu_${k}${labels}`]), cpus.split('/').map(Number));
    assert.equal(values[`slurm_node_mem_total${labels}`], Number(memory));
  }
  assert.equal(values['slurm_nodes_total'], 4);
  assert.equal(values['slurm_nodes_drain{partition="dev",active_feature_set="null"}'], 1);
  assert.equal(values[`slurm_queue_pending{${queue},reason="JobHeldUser"}`], 1);
  assert.equal(values['slurm_partition_jobs_pending{partition="dev"}'], 7);
  assert.ok(values['slurm_scheduler_threads'] >= 1);
  assert.ok(Object.keys(values).some((k) => k.startsWith('slurm_rpc_stats{operation="')));
  assert.equal(values['slurm_exporter_collector_success{collector="queue"}'], 1);
  assert.equal(values['slurm_exporter_collector_success{collector="fairshare"}'], undefined); // this Slurm keeps no accounting
  assert.equal(values['holdfast_scheduler_up{scheduler="slurm"}'], 1);
  // The dashboards ask for what a Slurm shows; this one keeps no accounting, and its nodes have no GPUs for accounts to use.
  const asked = new Set(['slurm', 'jobs'].flatMap((file) => readFileSync(join(root, `dist/grafana/holdfast-${file}.json`), 'utf8').match(/\b(slurm|holdfast_scheduler)_\w+/g)));
  assert.ok(asked.size > 40, String(asked.size));
  await until_scraped('each series of the dashboards', (v) => {
    const names = new Set(Object.keys(v).map((key) => key.replace(/{.*/, '')));
    const missing = [...asked].filter((name) => !names.has(name) && !/fairshare|_gpus_running$/.test(name));
    if (missing.length > 0) throw new Error(missing.join(' '));
    return true;
  });
  world.slurmRun('scancel', job);
});

test('the end of a job\'s output is printed where this machine has its file', async () => {
  const out = join(world.dir, 'the run.out');
  const job = world.slurmRun('sbatch', '--parsable', '-N1', '-w', 'gpu-2', '-o', out, '--wrap', 'seq 1 300; sleep 600');
  await until('it has written', () => existsSync(out) && readFileSync(out, 'utf8').endsWith('300\n') && world.json('job', 'list').some((j) => j.id === job));
  const printed = world.hpctl('job', 'logs', job, '--lines', '2');
  assert.deepEqual([printed.code, printed.out, printed.err], [0, '299\n300\n', '']);
  const place = world.json('job', 'logs', job);
  check('readJobLogs', 200, place);
  assert.deepEqual([place.state, place.node, place.path, place.log], ['read', 'gpu-2', out, undefined]);
  world.slurmRun('scancel', job);
});

test('what a job writes is followed until the job is over', async () => {
  const out = join(world.dir, 'followed.out');
  const job = world.slurmRun('sbatch', '--parsable', '-N1', '-w', 'gpu-2', '-o', out, '--wrap', `seq 1 5; while ! test -e ${out}.go; do sleep 0.2; done; seq 6 8; printf end`);
  await until('it has written', () => existsSync(out) && readFileSync(out, 'utf8').endsWith('5\n') && world.json('job', 'list').some((j) => j.id === job && j.state === 'RUNNING'));
  const follower = spawn(hpctlPath, ['job', 'logs', job, '--lines', '2', '--follow'], { env: { ...process.env, ...world.env } });
  let printed = '', said = '';
  follower.stdout.on('data', (d) => (printed += d));
  follower.stderr.on('data', (d) => (said += d));
  const ended = new Promise((done) => follower.on('close', done));
  await until('its end is printed', () => printed === '4\n5\n');
  writeFileSync(`${out}.go`, '');
  assert.equal(await ended, 0, said);
  assert.deepEqual([printed, said], ['4\n5\n6\n7\n8\nend', '']);
  assert.match(world.hpctl('job', 'logs', job, '--follow', '-o', 'json').err, /--follow prints what is written from now on/);
});

test('jobs are listed and described as Slurm has them', async () => {
  const job = world.slurmRun('sbatch', '--parsable', '-N2', '-w', 'gpu-[1-2]', '-t', '60', '-o', '/dev/null', '-J', 'train', '--wrap', 'sleep 600');
  const runs = await until('the job runs', () => world.json('job', 'list').find((j) => j.id === job && j.state === 'RUNNING'));
  assert.deepEqual([runs.name, runs.nodes, runs.nodeCount, runs.tasks, runs.restarts, runs.timeLimitSeconds], ['train', 'gpu-[1-2]', 2, 1, 0, 3600]);
  assert.ok(Date.parse(runs.startedAt) >= Date.parse(runs.submittedAt) && Date.parse(runs.endsBy) - Date.parse(runs.startedAt) === 3600_000);
  const array = world.json('job', 'list').find((j) => j.tasks > 1);
  assert.deepEqual([array.state, array.reason, array.tasks, array.nodes, array.startedAt], ['PENDING', 'JobHeldUser', 7, undefined, undefined]);
  const described = world.json('job', 'describe', job);
  check('describeJob', 200, described);
  assert.deepEqual([described.faults, described.repairs], [[], []]);
  assert.match(world.hpctl('job', 'list').out, new RegExp(`${job} +train .*RUNNING.*gpu-\\[1-2\\]`));
  assert.match(world.hpctl('job', 'describe', job).out, /Faults of its nodes while it had them\nnone/);
  assert.match(world.hpctl('job', 'describe', '999999').err, /knows no job/);
  assert.match(world.hpctl('job', 'logs', job).err, /cannot read \/dev\/null here: .*\nThe job writes it on gpu-1: hpctl node ssh gpu-1\n/);
  world.slurmRun('scontrol', 'requeue', job);
  await until('the job waits again, its restart counted', () => world.json('job', 'list').some((j) => j.id === job && j.restarts === 1));
  world.slurmRun('scancel', job);
  const over = await until('its end is seen', () => world.json('job', 'list').find((j) => j.id === job && j.state === 'CANCELLED'));
  assert.ok(over.endedAt && !over.endsBy);
  const ids = world.json('job', 'list').map((j) => j.id);
  const pages = [];
  for (let cursor = ''; cursor !== undefined;) {
    const reply = await fetch(`${world.url}/v1/clusters/demo/jobs?limit=1${cursor && `&cursor=${cursor}`}`, { headers: { authorization: `Bearer ${world.token}` } });
    const page = await reply.json();
    check('listJobs', reply.status, page);
    pages.push(...page.items.map((j) => j.id));
    cursor = page.nextCursor;
  }
  assert.deepEqual(pages, ids);
});

test('Slurm is asked once in an interval, whoever scrapes', async () => {
  await again('1h');
  const first = await until_scraped('there are figures', (v) => v['holdfast_scheduler_up{scheduler="slurm"}'] === 1);
  const looks = ran('scontrol -a -d -o show node');
  await until('the nodes are looked at often', () => ran('scontrol -a -d -o show node') > looks + 5);
  for (let i = 0; i < 20; i++) assert.equal((await scrape())['holdfast_scheduler_job_snapshot_timestamp_seconds{scheduler="slurm"}'], first['holdfast_scheduler_job_snapshot_timestamp_seconds{scheduler="slurm"}']);
  assert.deepEqual(['squeue', 'sdiag', 'sshare', 'scontrol -a -o show reservation'].map(ran), [1, 1, 1, 1]);
});

test('an interval of nothing is no job snapshot', async () => {
  await again('0s');
  await until('the nodes are looked at', () => ran('scontrol -a -d -o show node') > 5);
  const values = await scrape();
  assert.equal(values['holdfast_scheduler_up{scheduler="slurm"}'], 0);
  assert.equal(Object.keys(values).filter((k) => k.startsWith('slurm_')).length, 0);
  assert.equal(ran('squeue'), 0);
});

test('without slurmctld there are no old numbers', async () => {
  await again('1s');
  await until_scraped('there are figures', (v) => v['slurm_nodes_total'] === 4);
  world.lab('end', world.slurm, 'slurmctld');
  const values = await until_scraped('they are gone', (v) => v['holdfast_scheduler_up{scheduler="slurm"}'] === 0);
  assert.equal(Object.keys(values).filter((k) => k.startsWith('slurm_')).length, 0);
  assert.equal(values['holdfast_scheduler_job_snapshot_timestamp_seconds{scheduler="slurm"}'], 0);
  assert.match(world.hpctl('job', 'list').err, /not known now/);
  world.lab('begin', world.slurm, 'slurmctld');
  await until_scraped('they are back', (v) => v['holdfast_scheduler_up{scheduler="slurm"}'] === 1 && v['slurm_nodes_total'] === 4);
});
