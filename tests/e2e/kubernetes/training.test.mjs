// HyperPodPyTorchJobs on a real API server: what the CRD takes and refuses, and the whole life of jobs under hpd. The launchers are real hpruns; what a
// kubelet would do for their pods is tests/e2e/lib/launchers.mjs, as the lab's nodes have none.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertValid, operations } from '../api/contract.mjs';
import { KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { Launchers } from '../lib/launchers.mjs';
import { hpctlPath, hprunPath, root } from '../lib/programs.mjs';
import { FELL_OFF, until } from '../lib/world.mjs';

const why = cannot();
let world, launchers;
before(async () => {
  if (why) return;
  world = await new KubernetesWorld({ nodes: 3, scheduler: { trainingJobs: true } }).start();
  for (const file of ['hyperpodpytorchjob', 'rbac-training-jobs']) world.kubectl('apply', '--server-side', '-f', join(root, `packaging/kubernetes/${file}.yaml`));
  world.kubectl('create', 'clusterrolebinding', 'holdfast-training-jobs', '--clusterrole=holdfast-training-jobs', '--user=holdfast');
  world.kubectl('wait', '--for', 'condition=established', 'crd/hyperpodpytorchjobs.sagemaker.amazonaws.com', '--timeout=60s');
  launchers = new Launchers(world);
}, { timeout: 300000 });
after(async () => {
  await launchers?.end();
  await world?.end();
});

// Workers that run until NAME/done is there; a rank fails when NAME/fail-RANK is.
const dirOf = (name) => join(world.dir, 'jobs', name);
const touch = (name, file, text = '') => writeFileSync(join(dirOf(name), file), text);
const job = (name, { replicas = 2, spares, gpus = 8, runPolicy = {}, elasticPolicy, script } = {}) => ({
  apiVersion: 'sagemaker.amazonaws.com/v1', kind: 'HyperPodPyTorchJob', metadata: { name, namespace: 'default' },
  spec: {
    nprocPerNode: '1', runPolicy, ...(elasticPolicy && { elasticPolicy }),
    replicaSpecs: [{ name: 'pods', replicas, ...(spares && { spares }), template: { metadata: { labels: { team: 'lab' } }, spec: {
      tolerations: [], terminationGracePeriodSeconds: 1,
      containers: [{ name: 'pytorch', image: 'lab', command: [hprunPath, '--no-python', '--tee=3', '--shutdown-timeout=1', '/bin/sh', '-c',
        script ?? `cd ${dirOf(name)}; echo "start $RANK of $WORLD_SIZE at $MASTER_ADDR attempt $TORCHELASTIC_RESTART_COUNT"; while [ ! -e done ]; do if [ -e fail-$RANK ]; then rm fail-$RANK; exit 7; fi; sleep 0.1; done`],
      resources: { requests: { 'nvidia.com/gpu': `${gpus}` }, limits: { 'nvidia.com/gpu': `${gpus}` } } }] } } }],
  },
});
const create = (name, options) => {
  mkdirSync(dirOf(name), { recursive: true });
  world.apply(job(name, options));
};
const get = (name) => JSON.parse(world.kubectl('get', 'hyperpodpytorchjobs', name, '-o', 'json'));
const holdfast = (name) => JSON.parse(get(name).metadata.annotations?.['holdfast/record'] ?? '{}');
const condition = (name, type) => get(name).status?.conditions?.find((c) => c.type === type);
// The status follows the record.
const running = (name) => until(`${name} runs`, () => condition(name, 'Running')?.status === 'True' && holdfast(name).state === 'Running' && holdfast(name));
const over = (name) => until(`${name} is over`, () => ['Completed', 'Failed'].includes(holdfast(name).state) && get(name).status.completionTime && { ...get(name).status, holdfast: holdfast(name) });
const podsOf = (name) => JSON.parse(world.kubectl('get', 'pods', '-l', `sagemaker.amazonaws.com/job-name=${name}`, '-o', 'json')).items;
const events = (name) => JSON.parse(world.kubectl('get', 'events', '-o', 'json', '--field-selector', `involvedObject.name=${name}`)).items;
const refusal = (object) => {
  world.input = JSON.stringify(object);
  const run = world.kubectlRun('create', '--dry-run=server', '-f', '-');
  delete world.input;
  assert.notEqual(run.code, 0, 'it was taken');
  return run.err;
};

test('the CRD takes what the public examples have, and says what is wrong with others', { skip: why }, () => {
  const rules = [{ name: 'JobHangingDetection', logPattern: ".*\\[Epoch 0 Batch \\d+.*'training_loss_step': (\\d+(\\.\\d+)?).*", expectedRecurringFrequencyInSeconds: 300, expectedStartCutOffInSeconds: 600 },
    { name: 'LossSpikeDetection', logPattern: '.*loss (\\d+(?:\\.\\d+)?).*', metricThreshold: 2.0, operator: 'gt', metricEvaluationDataPoints: 5 },
    { name: 'GPU Error', logPattern: '.*RuntimeError: .*out of memory.*', faultOnMatch: true }];
  const good = job('good', { replicas: 4, spares: 2, runPolicy: { cleanPodPolicy: 'None', jobMaxRetryCount: 10, logMonitoringConfiguration: rules,
    restartPolicy: { numRestartBeforeFullJobRestart: 3, evalPeriodSeconds: 21600, maxFullJobRestarts: 1 } }, script: 'true' });
  world.input = JSON.stringify(good);
  const taken = world.kubectlRun('create', '--dry-run=server', '-o', 'json', '-f', '-');
  delete world.input;
  assert.equal(taken.code, 0, taken.err);
  assert.deepEqual(JSON.parse(taken.out).spec.replicaSpecs[0].template.spec, good.spec.replicaSpecs[0].template.spec, 'nothing of a template is lost');
  const bad = (change) => {
    const object = structuredClone(good);
    change(object.spec, object);
    return refusal(object);
  };
  assert.match(bad((s) => (s.nprocPerNode = 'eight')), /nprocPerNode has to be "auto", "cpu", "gpu" or a number/);
  assert.match(bad((s) => (s.replicaSpecs[0].name = 'A_b')), /name has to be small letters, digits and hyphens/);
  assert.match(bad((s) => (s.replicaSpecs[0].replicas = 0)), /the replicas of all replicaSpecs together have to be 1 or more/);
  assert.match(bad((s) => delete s.replicaSpecs[0].template.spec.containers[0].image), /image: Required value/);
  assert.match(bad((s) => (s.runPolicy.cleanPodPolicy = 'Some')), /cleanPodPolicy has to be All, OnlyComplete or None/);
  assert.match(bad((s) => delete s.runPolicy.restartPolicy.evalPeriodSeconds), /evalPeriodSeconds: Required value/);
  assert.match(bad((s) => delete s.runPolicy.logMonitoringConfiguration[1].operator), /metricThreshold and operator go together/);
  assert.match(bad((s) => (s.elasticPolicy = { minReplicas: 8, maxReplicas: 4 })), /minReplicas has to be maxReplicas or less/);
  assert.match(bad((s) => (s.elasticPolicy = { maxReplicas: 8, replicaIncrementStep: 2, replicaDiscreteValues: [2] })), /exclude each other/);
});

test('a job runs, and its pods go when it has ended', { skip: why }, async () => {
  create('first');
  await running('first');
  const pods = podsOf('first');
  assert.deepEqual(pods.map((p) => p.metadata.name), ['first-pods-0', 'first-pods-1']);
  assert.equal(new Set(pods.map((p) => p.spec.nodeName)).size, 2);
  assert.equal(pods[0].metadata.labels.team, 'lab');
  const [zero, one] = pods.map((p) => launchers.of(p.metadata.name));
  await until('both workers have begun', () => /start 0 of 2/.test(zero.out) && new RegExp(`start 1 of 2 at ${zero.address} attempt 0`).test(one.out));
  assert.equal((await fetch(`http://${zero.address}:8080/status`)).status, 401, 'nobody else commands a launcher');
  assert.equal(condition('first', 'Running').status, 'True');
  assert.equal(get('first').status.masterAddr, zero.address);
  touch('first', 'done');
  const status = await over('first');
  assert.equal(status.holdfast.state, 'Completed');
  assert.equal(status.restartCount, 0);
  assert.ok(Date.parse(status.completionTime) >= Date.parse(status.startTime));
  await until('its pods are gone', () => podsOf('first').length === 0);
  const shown = await until('hpctl shows it', () => world.json('job', 'list').find((j) => j.id === 'default/first' && j.state === 'COMPLETED'));
  assert.deepEqual([shown.user, shown.name, shown.reason, shown.nodeCount], ['default', 'first', 'JobCompleted', 2]);
});

test('a rank that fails costs the processes and no pod; the second time in a row, with hpd killed meanwhile, its own pod', { skip: why }, async () => {
  create('second', { runPolicy: { restartPolicy: { evalPeriodSeconds: 3600, numRestartBeforeFullJobRestart: 3, maxFullJobRestarts: 1 } } });
  await running('second');
  const before = podsOf('second').map((p) => p.metadata.uid);
  touch('second', 'fail-1');
  await until('it runs again', () => holdfast('second').restarts === 1 && holdfast('second').state === 'Running');
  assert.deepEqual(podsOf('second').map((p) => p.metadata.uid), before);
  const [cause] = events('second').filter((e) => e.reason === 'WorkerCrash');
  assert.match(cause.message, /^Rank 1 on hyperpod-\S+: Rank 1 .*exited with code 7/);
  const [back] = events('second').filter((e) => /remediated/.test(e.message));
  assert.match(back.message, /^The fault of reason WorkerCrash was remediated in \d+ milliseconds\.$/);
  assert.equal(back.source.component, 'hyperpod-pytorch-job-controller');
  await until('the status says so', () => get('second').status.latestFaultyPodInstanceList?.faultyRankList?.[0] === '1');
  await world.killHpd();
  touch('second', 'fail-0');
  await until('the rank has failed', () => !existsSync(join(dirOf('second'), 'fail-0')));
  await world.startHpd();
  await until('it runs again', () => holdfast('second').restarts === 2 && holdfast('second').state === 'Running');
  const now = podsOf('second').map((p) => p.metadata.uid);
  assert.notEqual(now[0], before[0], 'the rank that failed has a new pod');
  assert.equal(now[1], before[1]);
  assert.equal(holdfast('second').fault.level, 'pod');
  assert.equal(world.kubeNodes().filter((n) => n.spec.unschedulable).length, 0, 'the fault of a program costs no node');
});

test('hpctl prints what a rank wrote, through the API server, and says why where it cannot', { skip: why }, async () => {
  await launchers.offerLogs();
  await until('hpctl knows the job', () => world.json('job', 'list').some((j) => j.id === 'default/second'));
  // Not world.hpctl, which would hold up this process, and with it the kubelet that is asked.
  const logs = (...args) => new Promise((done) => execFile(hpctlPath, ['job', 'logs', ...args], { env: { ...process.env, ...world.env } }, (error, out, err) => done({ code: error?.code ?? 0, out, err })));
  const one = await logs('default/second', '--rank', '1', '--lines', '1');
  assert.deepEqual([one.code, one.err], [0, '']);
  assert.match(one.out, /^\[default0\]:start 1 of 2 at \S+ attempt \d+\n$/);
  const zero = JSON.parse((await logs('default/second', '-o', 'json')).out);
  assertValid(operations.get('readJobLogs').responses['200'].content['application/json'].schema, zero, 'readJobLogs');
  assert.deepEqual([zero.rank, zero.source, zero.node], [0, 'second-pods-0', podsOf('second')[0].spec.nodeName]);
  assert.match(zero.log, /start 0 of 2/);
  assert.match((await logs('default/second', '--rank', '7')).err, /The job has 2 ranks now: there is no rank 7/);
  assert.match((await logs('default/second', '--previous')).err, /previous terminated container in pod .*not found/);
  assert.match((await logs('default/none')).err, /knows no job/);
});

test('a person restarts, suspends and resumes a job, and none of it counts', { skip: why }, async () => {
  const hpctl = (...args) => assert.equal(world.hpctl('job', ...args).code, 0);
  const pods = () => podsOf('second').map((p) => p.metadata.uid);
  const before = { pods: pods(), attempt: holdfast('second').attempt };
  await until('hpctl knows it', () => world.json('job', 'list').find((j) => j.id === 'default/second' && j.state === 'RUNNING'));
  hpctl('restart', 'default/second');
  await until('its workers began anew', () => { const now = holdfast('second'); return now.state === 'Running' && now.attempt > before.attempt; });
  assert.deepEqual(pods(), before.pods);
  hpctl('restart', 'default/second', '--pods');
  await until('its pods are new', () => holdfast('second').state === 'Running' && pods().length === 2 && pods().every((uid) => !before.pods.includes(uid)));
  hpctl('suspend', 'default/second');
  await until('its pods are gone', () => holdfast('second').state === 'Suspended' && pods().length === 0);
  hpctl('resume', 'default/second');
  await running('second');
  assert.equal(holdfast('second').restarts, 2, 'as before');
  const over = world.hpctl('job', 'restart', 'default/first');
  assert.match(over.err, /The job "default\/first" is over: it is COMPLETED/);
  assert.notEqual(over.code, 0);
});

test('a node that fails is left; the pod of the other stays', { skip: why }, async () => {
  const [zero, one] = podsOf('second');
  const name = world.json('node', 'list').find((n) => `hyperpod-${n.instanceId}` === one.spec.nodeName).name;
  world.kernel(name, FELL_OFF);
  const record = await until('it runs elsewhere', () => {
    const now = holdfast('second');
    return now.nodeRestarts === 1 && now.state === 'Running' && now;
  });
  assert.equal(record.restarts, 2, 'a fault of a node counts against no limit');
  const after = podsOf('second');
  assert.equal(after[0].metadata.uid, zero.metadata.uid);
  assert.notEqual(after[1].metadata.uid, one.metadata.uid);
  assert.notEqual(after[1].spec.nodeName, one.spec.nodeName);
  assert.match(events('second').find((e) => e.reason === 'NodeFault').message, new RegExp(`^Found unhealthy node ${one.spec.nodeName}`));
  await world.repaired(name, 'reboot');
  await until('the node is no longer left out', () => holdfast('second').excluded.length === 0);
  touch('second', 'done');
  assert.equal((await over('second')).holdfast.state, 'Completed');
});

test('a rule, a bug, a deadline, a suspension: each ends as it should', { skip: why }, async () => {
  const small = { replicas: 1, gpus: 1 };
  create('memory', { ...small, runPolicy: { logMonitoringConfiguration: [{ name: 'GPUError', logPattern: '.*RuntimeError: .*out of memory.*', faultOnMatch: true }] },
    script: `if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then echo "RuntimeError: CUDA out of memory"; sleep 60; fi; echo trained` });
  create('bug', { ...small, runPolicy: { cleanPodPolicy: 'None' }, script: 'echo "no such module"; exit 1' });
  create('late', { ...small, runPolicy: { activeDeadlineSeconds: 3, ttlSecondsAfterFinished: 2 } });
  create('asleep', { ...small, runPolicy: { suspend: true } });
  const memory = await over('memory');
  assert.equal(memory.holdfast.state, 'Completed');
  assert.equal(memory.holdfast.restarts, 1);
  assert.match(memory.holdfast.fault.reason, /^LogFault_GPUError$/);
  const bug = await over('bug');
  const described = await until('hpctl describes it', () => { const job = world.json('job', 'describe', 'default/bug'); return job.state === 'FAILED' && job; });
  assert.deepEqual([described.reason, described.restarts], ['NoProgress', 3]);
  assert.deepEqual([bug.holdfast.state, bug.holdfast.reason, bug.holdfast.restarts], ['Failed', 'NoProgress', 3]);
  assert.equal(condition('bug', 'Failed').message, 'WorkerCrash; 3 restarts in a row brought no progress');
  assert.equal(podsOf('bug').length, 1, 'its pod is kept');
  await until('and holds no GPU: its launcher has ended', () => launchers.of('bug-pods-0').child.exitCode !== null);
  await until('the late one failed and is deleted', () => events('late').some((e) => e.reason === 'DeadlineExceeded') && world.kubectlRun('get', 'hyperpodpytorchjobs', 'late').code === 1);
  await until('the status says that it is suspended', () => condition('asleep', 'Suspended')?.status === 'True');
  const asleep = await until('hpctl shows that it waits', () => world.json('job', 'list').find((j) => j.id === 'default/asleep'));
  assert.deepEqual([asleep.state, asleep.reason, asleep.partition], ['PENDING', 'Suspended', 'workers']);
  assert.equal(podsOf('asleep').length, 0);
  world.kubectl('patch', 'hyperpodpytorchjobs', 'asleep', '--type=merge', '-p', '{"spec":{"runPolicy":{"suspend":false}}}');
  await running('asleep');
  world.kubectl('delete', 'hyperpodpytorchjobs', 'asleep');
  await until('its pods go with it', () => podsOf('asleep').length === 0);
  assert.equal(world.kubeNodes().filter((n) => n.spec.unschedulable).length, 0, 'none of this costs a node');
  const metrics = await (await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${world.token}` } })).text();
  const figure = (name) => Number(new RegExp(`^hyperpod_training_operator_jobs_${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(metrics)?.[1]);
  assert.ok(figure('failed_total') >= 2 && figure('restarted_total') >= 4 && figure('restart_latency_count') >= 3, metrics.match(/^hyperpod_training.*$/gm)?.join());
  const shown = readFileSync(join(root, 'dist/grafana/holdfast-kubernetes.json'), 'utf8').match(/\b(hyperpod|holdfast_scheduler)_\w+/g);
  const missing = [...new Set(shown)].filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(metrics));
  assert.ok(shown.length > 15);
  assert.deepEqual(missing, [], 'each series of the dashboard is there');
});

test('a spare takes the rank of a pod that is taken away', { skip: why }, async () => {
  create('spare', { replicas: 2, spares: 1 });
  const { ranks } = await running('spare');
  const spare = [0, 1, 2].find((i) => !ranks.includes(i)); // whichever two were ready first have the ranks
  await until('the spare stands ready', () => launchers.of(`spare-pods-${spare}`));
  const node = podsOf('spare')[ranks[0]].spec.nodeName;
  world.kubectl('cordon', node); // a person takes the node: there is no room for another pod
  world.kubectl('delete', 'pod', `spare-pods-${ranks[0]}`, '--wait=false');
  const record = await until('it runs with the spare', () => {
    const now = holdfast('spare');
    return now.state === 'Running' && now.ranks[0] === spare && now;
  });
  assert.deepEqual(record.ranks, [spare, ranks[1]]);
  assert.deepEqual([record.restarts, record.fault.cause], [0, 'evicted']);
  world.kubectl('uncordon', node);
  touch('spare', 'done');
  assert.equal((await over('spare')).holdfast.state, 'Completed');
});

test('several sets of pods are one job: ranks go across them, and a spare stands in for its own set', { skip: why }, async () => {
  const object = job('sets', { gpus: 1 });
  const [pods] = object.spec.replicaSpecs;
  object.spec.replicaSpecs = [{ ...pods, name: 'head', replicas: 1 }, { ...structuredClone(pods), name: 'worker', replicas: 2, spares: 1 }];
  object.spec.replicaSpecs[1].template.metadata.labels.team = 'workers';
  mkdirSync(dirOf('sets'), { recursive: true });
  world.apply(object);
  const { ranks } = await running('sets');
  const names = ['sets-head-0', 'sets-worker-0', 'sets-worker-1', 'sets-worker-2'];
  assert.equal(ranks[0], 0);
  await until('the spare stands ready, and all have begun', () => launchers.of(names[6 - ranks[1] - ranks[2]]) && ranks.every((pod, rank) => launchers.of(names[pod])?.out.includes(`start ${rank} of 3 at ${launchers.of(names[0]).address}`)));
  assert.deepEqual(podsOf('sets').map((p) => [p.metadata.name, p.metadata.labels.team]), names.map((name, i) => [name, i ? 'workers' : 'lab']));
  launchers.held.add(names[ranks[2]]); // the pod that is made anew would get its rank back where it is ready first
  world.kubectl('delete', 'pod', names[ranks[2]], '--wait=false');
  const record = await until('the spare has the rank', () => { const now = holdfast('sets'); return now.state === 'Running' && now.attempt === 2 && now; });
  assert.deepEqual(record.ranks, [0, ranks[1], 6 - ranks[1] - ranks[2]]);
  launchers.held.clear();
  touch('sets', 'done');
  assert.equal((await over('sets')).holdfast.state, 'Completed');
});

test('rules that change while the job runs are the workers\' rules, also where hpd was away meanwhile', { skip: why }, async () => {
  create('changes', { replicas: 1, gpus: 1, script: `cd ${dirOf('changes')}; while [ ! -e done ]; do if [ -e nan ]; then rm nan; echo "loss nan"; fi; sleep 0.1; done` });
  await running('changes');
  touch('changes', 'nan');
  await until('the line is there', () => /loss nan/.test(launchers.of('changes-pods-0').out));
  await world.killHpd();
  world.kubectl('patch', 'hyperpodpytorchjobs', 'changes', '--type=merge', '-p', JSON.stringify({ spec: { runPolicy: { logMonitoringConfiguration: [{ name: 'NaN', logPattern: '.*loss nan.*', faultOnMatch: true }] } } }));
  await world.startHpd();
  await until('the new rule has found such a line', () => {
    if (holdfast('changes').restarts > 0) return true;
    touch('changes', 'nan');
    return false;
  });
  assert.equal(holdfast('changes').fault.reason, 'LogFault_NaN');
  touch('changes', 'done');
  assert.equal((await over('changes')).holdfast.state, 'Completed');
});

test('an elastic job starts with the nodes that are there, and grows when its workers have saved a checkpoint', { skip: why }, async () => {
  const [held] = world.kubeNodes().map((n) => n.metadata.name);
  world.kubectl('cordon', held);
  create('elastic', { replicas: 2, elasticPolicy: { minReplicas: 1, maxReplicas: 3, replicaIncrementStep: 1, scalingTimeoutInSeconds: 2, faultyScaleDownTimeoutInSeconds: 2, gracefulShutdownTimeoutInSeconds: 30 },
    script: `cd ${dirOf('elastic')}; trap 'echo "rank $RANK of $WORLD_SIZE saves"; echo $WORLD_SIZE >> saved; exit 0' USR1; while [ ! -e done ]; do sleep 0.1; done` });
  // Where the second pod is slow to start, it begins with one, which saves before it grows.
  await until('it runs on two nodes', () => { const now = holdfast('elastic'); return now?.state === 'Running' && now.ranks.length === 2; });
  world.kubectl('uncordon', held);
  await until('it runs on three', () => { const now = holdfast('elastic'); return now.state === 'Running' && now.ranks.length === 3; });
  assert.deepEqual(readFileSync(join(dirOf('elastic'), 'saved'), 'utf8').trim().split('\n').filter((size) => size !== '1'), ['2', '2'], 'each worker has saved once');
  assert.match(events('elastic').find((e) => e.reason === 'ScaleUp').message, /^From 2 to 3 replicas/);
  const scale = (size) => world.hpctl('job', 'scale', 'default/elastic', String(size));
  await until('hpctl knows its bounds', () => /may have 1 to 3 replicas/.test(scale(4).err));
  assert.equal(scale(1).code, 0);
  await until('it runs on one, and the other pods are gone', () => {
    const now = holdfast('elastic');
    return now.state === 'Running' && now.ranks.length === 1 && podsOf('elastic').length === 1;
  });
  assert.match(events('elastic').find((e) => e.reason === 'ScaleDown').message, /^From 3 to 1 replicas, as asked for/);
  assert.equal(readFileSync(join(dirOf('elastic'), 'saved'), 'utf8').trim().split('\n').filter((size) => size === '3').length, 3, 'each of three has saved');
  assert.equal(scale(2).code, 0);
  await until('it runs on two', () => { const now = holdfast('elastic'); return now.state === 'Running' && now.ranks.length === 2; });
  assert.deepEqual([holdfast('elastic').restarts, holdfast('elastic').nodeRestarts], [0, 0]);
  touch('elastic', 'done');
  assert.equal((await over('elastic')).holdfast.state, 'Completed');
});
