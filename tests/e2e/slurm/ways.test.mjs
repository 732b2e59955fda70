// In each way to Slurm: a node is quarantined for its deep check and given back; jobs are listed, described, waited for, signalled and
// requeued; a partition has the tier of its class, and a team its limits.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentService } from '../lib/programs.mjs';
import { FELL_OFF, World, until } from '../lib/world.mjs';
import { WAYS, inEachWay } from './ways.mjs';

const RESERVATION = 'hyperpod-deep-health-check';
const PARTITION = 'hyperpod-system-maintenance';
const FEATURE = 'SageMakerDeepHealthCheck:InProgress';

inEachWay(WAYS, (way) => {
  let world, go;
  before(async () => {
    world = new World({ way, nodes: 2, lab: ['--no-slurmd', '--accounting'], recovery: { breakerMin: 100, jobs: 'signal', jobSignal: 'B:USR1', signalDeadline: '3s' } });
    const tools = join(world.dir, 'tools');
    go = join(world.dir, 'go');
    mkdirSync(tools);
    writeFileSync(join(tools, 'stress-ng'), `#!/bin/sh\nwhile [ ! -e ${go} ]; do sleep 0.1; done\n`);
    chmodSync(join(tools, 'stress-ng'), 0o755);
    world.options.agent = { ...agentService, command: ['/usr/bin/env', `PATH=${tools}:/usr/bin:/bin`, ...agentService.command] };
    world.options.config = { checks: { busyWait: '3s', stressTime: '1s' } };
    await world.start();
    for (const what of [['account', 'train'], ['user', world.slurmRun('id', '-un'), 'account=train']]) world.slurmRun('sacctmgr', '-i', 'add', ...what);
  });
  after(() => world?.end());

  const scontrol = (...args) => world.slurmRun('scontrol', '-a', '-o', ...args);
  const shown = (what, name) => world.run('scontrol', '-a', '-o', 'show', what, name).out;
  const apart = () => [/ Nodes=gpu-1 /.test(shown('reservation', RESERVATION)), / Nodes=gpu-1 /.test(shown('partition', PARTITION)), shown('node', 'gpu-1').includes(FEATURE)];
  const everything = () => [scontrol('show', 'partition'), scontrol('show', 'reservation'), world.slurmNode('gpu-1'), / AvailableFeatures=\S+ ActiveFeatures=\S+/.exec(scontrol('show', 'node', 'gpu-1'))[0]];
  const submit = (script, ...options) => world.slurmRun('sbatch', '--parsable', '-A', 'train', '-N1', '--requeue', '-o', '/dev/null', ...options, '--wrap', script);
  const state = (id) => world.slurmRun('squeue', '-h', '-j', id, '-o', '%T');
  const ask = async (method, path, body) => {
    const reply = await fetch(`${world.url}/v1/clusters/demo/${path}`, { method, headers: { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
    const text = await reply.text();
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const applied = (path) => until(`${path} is applied`, async () => (await ask('GET', path)).applied);

  test('a node is quarantined for its deep check, and given back as it was', async () => {
    scontrol('update', 'NodeName=gpu-1', 'AvailableFeatures=a,b', 'ActiveFeatures=a');
    const before = everything();
    const [{ id }] = world.json('check', 'start', '--nodes', 'gpu-1', '--quick').checks;
    await until('it is quarantined', () => apart().every(Boolean));
    assert.match(shown('reservation', RESERVATION), /Flags=MAINT,IGNORE_JOBS/);
    await until('Slurm says so', () => /MAINT/.test(world.slurmNode('gpu-1').state));
    writeFileSync(go, '');
    await until('it has passed', () => world.json('check', 'describe', id).state === 'passed');
    await until('it is free', () => world.node('gpu-1').state === 'ready' && world.slurmNode('gpu-1').state === 'IDLE');
    assert.deepEqual(everything(), before);
  });

  test('jobs are listed and described; a fault has them signalled, waited for, and requeued', async () => {
    const asked = join(world.dir, 'asked');
    const job = submit(`trap 'echo asked >>${asked}' USR1; while :; do sleep 0.2; done`, '-w', 'gpu-1', '-J', 'the "first"');
    const seen = await until('it is listed', () => world.json('job', 'list').find((j) => j.id === job && j.state === 'RUNNING'));
    assert.deepEqual([seen.name, seen.nodes, seen.user], ['the "first"', 'gpu-1', world.slurmRun('id', '-un')]);
    assert.equal(world.json('job', 'describe', job).state, 'RUNNING');
    world.kernel('gpu-1', FELL_OFF);
    const repair = await until('a repair', () => world.operations('gpu-1').find((o) => o.kind === 'reboot'));
    await until('it was asked', () => existsSync(asked));
    assert.equal(state(job), 'RUNNING', 'and has its time');
    await world.repaired('gpu-1', 'reboot');
    assert.equal(readFileSync(asked, 'utf8'), 'asked\n', 'once');
    const found = await until('its starts are told', () => {
      const now = world.json('job', 'describe', job);
      return now?.runs?.length === 2 && now.runs[0].state === 'REQUEUED' && now.runs[1].state === 'RUNNING' && now; // each with its own look
    });
    assert.match(found.runs[0].why, /^requeued by Holdfast because of the reboot of gpu-1 \(xid\.79/);
    assert.deepEqual(found.signals.map((s) => [s.signal, s.operation]), [['B:USR1', repair.id]]);
    world.slurmRun('scancel', '-s', 'KILL', job);
  });

  test("a person's reboot waits for the jobs to end", async () => {
    const job = submit(`until [ -e ${world.dir}/end ]; do sleep 0.2; done`, '-w', 'gpu-2');
    await until('it runs', () => state(job) === 'RUNNING');
    assert.equal(world.hpctl('node', 'reboot', 'gpu-2', '--reason', 'new firmware').code, 0);
    await until('its jobs are waited for', () => world.operations('gpu-2').some((o) => o.steps?.some((s) => s.name === 'drain' && s.state === 'running' && s.detail?.includes(job))));
    assert.match(world.slurmNode('gpu-2').state, /^MIXED\+(DRAIN|FAIL)/);
    assert.equal(state(job), 'RUNNING');
    writeFileSync(join(world.dir, 'end'), '');
    await world.repaired('gpu-2', 'reboot');
    assert.match(scontrol('show', 'job', job), /JobState=COMPLETED .*Restarts=0 /);
  });

  test('a partition has the tier of its class and a team its limits, until they go', async () => {
    const tier = () => / PriorityTier=(\d+)/.exec(scontrol('show', 'partition', 'dev'))[1];
    const limits = () => world.slurmRun('sacctmgr', '-n', '-P', 'show', 'qos', 'holdfast-team-vision', 'format=GrpTRES');
    const before = tier();
    await ask('POST', 'scheduler-config', { name: 'main', schedulerConfig: { priorityClasses: [{ name: 'dev', weight: 70 }] } });
    await ask('POST', 'quotas', { name: 'vision', computeQuotaTarget: { teamName: 'vision' }, computeQuotaConfig: { computeQuotaResources: [{ instanceType: 'ml.p5.48xlarge', count: 1, vcpu: 2 }] } });
    for (const path of ['scheduler-config', 'quotas/vision']) await applied(path);
    assert.deepEqual([tier(), limits().split(',').sort().join()], ['70', 'cpu=2,node=1']);
    for (const path of ['quotas/vision', 'scheduler-config']) await ask('DELETE', path);
    await until('both are as they were', () => tier() === before && limits() === '');
  });
});
