// docs/install-kubernetes.md, typed in its order against a real control plane. What its NOT_RUN names needs a kubelet or a daemon for containers.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { blocksOf, commands, typeIn } from '../lib/documents.mjs';
import { KubernetesWorld, cannot } from '../lib/kubernetes.mjs';
import { hpctlPath, hpdPath, root } from '../lib/programs.mjs';
import { until } from '../lib/world.mjs';

const FILE = 'docs/install-kubernetes.md';
// What a command begins with, and why it is not typed here. "FILE.mjs: …": that test runs it.
const NOT_RUN = [
  ['kubectl -n aws-hyperpod exec hpd-0', 'its pod runs on no node here'],
  ['docker load', 'needs a daemon; daemonset.test.mjs imports such an image with ctr'],
  ['kubelet', 'daemonset.test.mjs starts kubelets with such labels and taints'],
];
const INSTEAD = [
  ['--user=NAME', '--user=ana'],
  ['hpctl apply -f prod.yaml', 'hpctl apply -f prod.yaml --yes'],
  ['hpctl token create --enrollment --ttl 24h', 'hpctl token create --enrollment --ttl 24h -o json >token.json'],
  ['token=hfe_…', 'token=$(jq -r .secret token.json)'],
  ['fingerprint=sha256:…', 'fingerprint=$(jq -r ".fingerprint // \\"none\\"" token.json)'],
];

const why = cannot();
const typed = blocksOf(FILE).filter(({ lang }) => lang === 'sh').flatMap(commands);
const reason = (text) => NOT_RUN.find(([begin]) => text.startsWith(begin));
const NODES = { 'ip-10-0-0-1': 'gpu_pool', 'ip-10-0-0-2': 'gpu_pool', 'ip-10-0-0-3': 'cpu' };
let world;

before(async () => {
  if (why) return;
  world = new KubernetesWorld({ cluster: false });
  await world.start();
  const nodes = Object.entries(NODES).map(([name, group]) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { 'eks.amazonaws.com/nodegroup': group } } }));
  await until('the nodes are made', () => world.apply(...nodes), 120000); // an API server that has just begun is slow to show its schema
  await until('hpd sees the nodes', () => world.json('scheduler', 'list')[0].unassignedCount === 3, 120000);
}, { timeout: 300000 });
after(() => world?.end());

test('each row of NOT_RUN and INSTEAD fits a command of the document', () => {
  for (const [begin] of NOT_RUN) assert.ok(typed.some(({ text }) => text.startsWith(begin)), begin);
  for (const [from] of INSTEAD) assert.ok(typed.some(({ text }) => !reason(text) && text.includes(from)), from);
});

test('the commands work as they are typed, and leave what the document says', { skip: why, timeout: 300000 }, async () => {
  const room = join(world.dir, 'typed');
  mkdirSync(room);
  for (const name of ['packaging', 'scripts']) symlinkSync(join(root, name), join(room, name));
  symlinkSync(dirname(hpdPath), join(room, 'build'));
  const lines = typed.filter(({ text }) => !reason(text)).map(({ line, text }) => ({ line, text: INSTEAD.reduce((all, [from, to]) => all.replaceAll(from, to), text) }));
  assert.ok(lines.length >= 10, String(lines.length));
  const PATH = `${join(world.kubernetes, 'bin')}:${dirname(hpctlPath)}:${process.env.PATH}`;
  const { code, line, said } = await typeIn(lines, room, { ...process.env, ...world.env, PATH, KUBECONFIG: join(world.kubernetes, 'admin.conf') });
  assert.equal(code, 0, `${FILE}:${line}:\n${said.slice(-3000)}`);

  const get = (...words) => JSON.parse(world.kubectl('get', ...words, '-o', 'json'));
  for (const kind of ['statefulset/hpd', 'daemonset/hp-agent']) assert.equal(get('-n', 'aws-hyperpod', kind).spec.template.spec.containers[0].image, 'holdfast:latest');
  for (const name of ['holdfast-outside', 'holdfast-governance']) assert.deepEqual(get('clusterrolebinding', name).subjects.map((one) => one.name), ['ana']);
  assert.match(Buffer.from(get('-n', 'aws-hyperpod', 'secret', 'hp-agent').data.token, 'base64').toString(), /^hfe_/);
  assert.deepEqual(world.json('cluster', 'describe', 'prod').instanceGroups.map((g) => [g.name, g.instanceCount]).sort(), [['cpu', 1], ['gpu-pool', 2]]);
  assert.deepEqual(world.json('node', 'list', '-c', 'prod').map((n) => n.name).sort(), Object.keys(NODES));
  assert.ok(existsSync(join(room, 'holdfast.tar')));
});
