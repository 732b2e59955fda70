// HyperPod's own command line, hyp of the package sagemaker-hyperpod from PyPI, unmodified, on jobs that hpd carries out: it creates, lists and
// describes them, shows their pods, and deletes them. The package is kept in a cache; skipped with a line where PyPI is not reached.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { Launchers } from '../lib/launchers.mjs';
import { PYTHON } from '../lib/hprun.mjs';
import { hprunPath, root } from '../lib/programs.mjs';
import { until } from '../lib/world.mjs';

const VERSION = '3.12.0';
const cache = process.env.HOLDFAST_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'holdfast');
const place = join(cache, `hyp-${VERSION}`);

// Why hyp cannot be had; undefined: it can. "ready" names the Python that it was installed for.
function install() {
  if (existsSync(join(place, 'ready'))) return undefined;
  rmSync(place, { recursive: true, force: true });
  const python = [PYTHON, 'python3'].find((name) => spawnSync(name, ['-m', 'pip', '--version']).status === 0);
  if (!python) return 'no Python here has pip';
  const got = spawnSync(python, ['-m', 'pip', '--disable-pip-version-check', '--retries', '1', '--timeout', '20', 'install', '-q', '--target', place, `sagemaker-hyperpod==${VERSION}`], { encoding: 'utf8', timeout: 600000 });
  if (got.status !== 0) return `sagemaker-hyperpod ${VERSION} is not to be had from PyPI: ${(got.stderr ?? '').trim().split('\n').at(-1)}`;
  writeFileSync(join(place, 'ready'), python);
  return undefined;
}

const why = cannot() ?? install();
let world, launchers, kubeconfig;
before(async () => {
  if (why) return;
  world = await new KubernetesWorld({ nodes: 2, scheduler: { trainingJobs: true } }).start();
  for (const file of ['hyperpodpytorchjob', 'rbac-training-jobs']) world.kubectl('apply', '--server-side', '-f', join(root, `packaging/kubernetes/${file}.yaml`));
  world.kubectl('create', 'clusterrolebinding', 'holdfast-training-jobs', '--clusterrole=holdfast-training-jobs', '--user=holdfast');
  world.kubectl('wait', '--for', 'condition=established', 'crd/hyperpodpytorchjobs.sagemaker.amazonaws.com', '--timeout=60s');
  launchers = new Launchers(world);
  kubeconfig = join(world.dir, 'hyp.conf');
  copyFileSync(join(world.kubernetes, 'admin.conf'), kubeconfig);
  const current = world.kubectl('config', 'current-context', '--kubeconfig', kubeconfig);
  world.kubectl('config', 'rename-context', current, 'arn:aws:eks:hp-local-1:123456789012:cluster/lab', '--kubeconfig', kubeconfig);
}, { timeout: 300000 });
after(async () => {
  await launchers?.end();
  await world?.end();
});

// hyp sends a word about each call to AWS, unless the region that the name of its context has is none of AWS's.
function hyp(...args) {
  const run = spawnSync(readFileSync(join(place, 'ready'), 'utf8'), [join(place, 'bin/hyp'), ...args], { encoding: 'utf8', timeout: 120000, env: {
    PATH: `${join(world.kubernetes, 'bin')}:${process.env.PATH}`, HOME: world.dir, PYTHONPATH: place, KUBECONFIG: kubeconfig, COLUMNS: '200',
    AWS_DEFAULT_REGION: 'hp-local-1', AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none', AWS_EC2_METADATA_DISABLED: 'true' } });
  assert.equal(run.status, 0, `hyp ${args.join(' ')}: ${run.stdout}${run.stderr}`);
  assert.doesNotMatch(run.stderr, /telemetry_logging:Request/);
  return run.stdout;
}
const submit = (name, script, ...more) => {
  const dir = join(world.dir, 'jobs', name);
  mkdirSync(dir, { recursive: true });
  hyp('create', 'hyp-pytorch-job', '--job-name', name, '--image', 'lab', '--replica-count', '2', '--tasks-per-node', '1',
    '--command', `[${hprunPath}, --no-python, --tee=3, --shutdown-timeout=1, /bin/sh, -c]`, '--args', `[cd ${dir}; ${script}]`, ...more);
  return dir;
};
const list = () => hyp('list', 'hyp-pytorch-job').split('\n').map((line) => line.trim().split(/\s+/)).filter((words) => words.length === 4 && words[1] === 'default')
  .map(([name, , status]) => `${name} ${status}`).sort();
const ours = (name) => world.json('job', 'list').find((job) => job.id === `default/${name}`);

test('hyp creates a job, and shows it as hpctl does', { skip: why }, async () => {
  const dir = submit('first', 'while [ ! -e done ]; do sleep 0.1; done', '--max-retry', '3');
  await until('it runs', () => ours('first')?.state === 'RUNNING');
  await until('hyp shows that it runs', () => list().includes('first Running'));
  const described = hyp('describe', 'hyp-pytorch-job', '--job-name', 'first');
  for (const word of [/Name: +first/, /Replicas: 2/, /Type: +Running/]) assert.match(described, word);
  const pods = hyp('list-pods', 'hyp-pytorch-job', '--job-name', 'first');
  for (const name of ['first-pod-0', 'first-pod-1']) assert.match(pods, new RegExp(name));
  writeFileSync(join(dir, 'done'), '');
  // Its ttlSecondsAfterFinished is 0: a job that is over goes at once.
  await until('it is over and gone', () => !list().some((line) => line.startsWith('first ')));
});

test('hyp shows the fault of a program, and deletes a job', { skip: why }, async () => {
  submit('second', 'exit 7', '--max-retry', '0');
  submit('third', 'while true; do sleep 0.1; done');
  await until('the third runs', () => list().includes('third Running'));
  await until('the second has failed, and is gone', () => !list().some((line) => line.startsWith('second ')));
  assert.equal(world.kubeNodes().filter((node) => node.spec.unschedulable).length, 0, 'the fault of a program costs no node');
  hyp('delete', 'hyp-pytorch-job', '--job-name', 'third');
  await until('its pods are gone', () => world.kubectl('get', 'pods', '-n', 'default', '-o', 'name') === '');
  assert.deepEqual(list(), []);
});

test('an elastic job of hyp has the sizes that were asked for', { skip: why }, async () => {
  const dir = submit('elastic', 'while [ ! -e done ]; do sleep 0.1; done', '--max-replica-count', '2', '--elastic-replica-increment-step', '1', '--elastic-scaling-timeout-in-seconds', '2');
  await until('hpctl knows its sizes', () => ours('elastic')?.elastic?.maxReplicas === 2 && ours('elastic').state === 'RUNNING');
  writeFileSync(join(dir, 'done'), '');
  await until('it has ended well, and is kept', () => list().includes('elastic Completed'));
});
