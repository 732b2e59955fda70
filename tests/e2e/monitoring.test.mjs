// A real Prometheus reads hpd and an agent: promtool takes what they say, and each query of the dashboards and the alerts is answered and asks
// for metrics that exist.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService, root } from './lib/programs.mjs';
import { until } from './lib/world.mjs';

const rules = join(root, 'dist/prometheus/holdfast.rules.yml');
const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'promtool is not installed';
const gone = (child) => new Promise((done) => (child.exitCode === null && child.signalCode === null ? child.once('exit', done) : done()));
let local, prometheus, port, agentPort;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port: found } = server.address();
  await new Promise((done) => server.close(done));
  return found;
}

const text = async (url) => (await fetch(url, { signal: AbortSignal.timeout(10000) })).text();

async function query(expression) {
  const reply = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`, { signal: AbortSignal.timeout(30000) });
  const { status, data, error } = await reply.json();
  assert.equal(status, 'success', `${expression}: ${error}`);
  return data.result;
}

async function startPrometheus() {
  const config = join(local.dir, 'prometheus.yml');
  const job = (name, at) => ({ job_name: name, static_configs: [{ targets: [`127.0.0.1:${at}`] }] });
  // The example that we ship, with this world's addresses in it.
  const found = readFileSync(join(root, 'dist/prometheus/agents.yml'), 'utf8')
    .replace('https://hpd.example:8700', `http://127.0.0.1:${local.port}`)
    .replace('port=9101', `port=${agentPort}`)
    .replace('refresh_interval: 60s', 'refresh_interval: 1s')
    .replace('/etc/prometheus/holdfast.token', join(local.dir, 'viewer.token'))
    .replace(/^ *tls_config: .*\n/m, '');
  const { status, body } = await local.call('POST', '/v1/tokens', { kind: 'api', name: 'prometheus', role: 'viewer' });
  assert.equal(status, 201, JSON.stringify(body));
  writeFileSync(join(local.dir, 'viewer.token'), body.secret);
  writeFileSync(config, [found, ...[job('holdfast', local.port), job('agents', agentPort)].map((one) => `  - ${JSON.stringify(one)}`)].join('\n').replace(/^/, `global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [${JSON.stringify(rules)}]\n`));
  prometheus = spawn('prometheus', [`--config.file=${config}`, `--storage.tsdb.path=${join(local.dir, 'tsdb')}`, `--web.listen-address=127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  prometheus.log = '';
  prometheus.stderr.on('data', (data) => (prometheus.log += data));
  await until('Prometheus has read hpd and the agent', async () => {
    if (prometheus.exitCode !== null) throw new Error(prometheus.log);
    return (await query('sum(up{job!="holdfast-agents"})').catch(() => []))[0]?.value[1] === '2';
  }, 60000);
}

before(async () => {
  if (skip) return;
  [port, agentPort] = [await freePort(), await freePort()];
  const command = agentService.command.map((word) => (word === 'none' ? 'disk,memory,load' : word));
  local = new Local({ service: { name: 'hp-agent', command: [...command, '--address', '127.0.0.1', '--metrics', `0.0.0.0:${agentPort}`] } });
  await local.start();
  await local.create(1);
  await local.ready(60000);
  await startPrometheus();
  await until('the checks have run', async () => {
    const said = await text(`http://127.0.0.1:${agentPort}/metrics`);
    return ['disk', 'load', 'memory'].every((name) => said.includes(`holdfast_check_result{check="${name}"`));
  }, 120000);
});
after(async () => {
  if (prometheus) {
    prometheus.kill('SIGTERM');
    await gone(prometheus);
  }
  await local?.end();
});

const check = (input) => spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });

test('promtool takes the metrics of hpd and of an agent', { skip }, async () => {
  for (const at of [local.port, agentPort]) {
    const said = await text(`http://127.0.0.1:${at}/metrics`);
    assert.match(said, /^holdfast_/m);
    const { status, stdout, stderr } = check(said);
    // HyperPod's and slurm_exporter's names are not ours to change; those of our own keep the conventions.
    assert.ok(status === 0 || status === 3, stderr);
    assert.deepEqual(`${stdout}${stderr}`.split('\n').filter((line) => /^(holdfast|process)_/.test(line)), []);
  }
  assert.equal(check('holdfast_x 1\nholdfast_x{a="1" 2\n').status, 1); // it can fail
});

test('the alerts fire when they have to', { skip }, () => {
  for (const [args, options] of [[['check', 'rules', rules]], [['test', 'rules', 'alerts.yml'], { cwd: join(root, 'tests/data/prometheus') }]]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', ...options });
    assert.equal(status, 0, stdout + stderr);
  }
});

// [file, expression] of each dashboard and each alert, with the dashboards' variables filled in.
function expressions() {
  const all = [...readFileSync(rules, 'utf8').matchAll(/^ {8}expr: (".*")$/gm)].map((found) => [rules, JSON.parse(found[1])]);
  for (const file of readdirSync(join(root, 'dist/grafana')))
    for (const panel of JSON.parse(readFileSync(join(root, 'dist/grafana', file), 'utf8')).panels)
      for (const target of panel.targets) all.push([`${file}: ${panel.title}`, target.expr.replace(/\$(cluster|instance|scheduler)\b/g, '.*')]);
  return all;
}

test('each query of the dashboards and the alerts is answered, and asks for what exists', { skip }, async () => {
  const said = (await Promise.all([local.port, agentPort].map((at) => text(`http://127.0.0.1:${at}/metrics`)))).join('');
  // What only a machine with a GPU or a network, or an hpd with a scheduler, shows.
  const sources = ['agents/checks/nvidia_facts.h', 'agents/node/metric_help.c', 'server/metrics.c'].map((file) => readFileSync(join(root, file), 'utf8')).join('');
  const slurms = readFileSync(join(root, 'docs/slurm-metrics.md'), 'utf8'); // a unit test holds the page to what there is
  const isOurs = (name) => said.includes(`# TYPE ${name} `) || said.includes(`# TYPE ${name.replace(/_(bucket|sum|count)$/, '')} `) || sources.includes(`"${name}"`);
  const kubernetes = ['jobs', 'training'].map((file) => readFileSync(join(root, `server/scheduler/kubernetes/${file}.c`), 'utf8')).join('');
  // Names that the code puts together; kubernetes/training.test.mjs sees them all on a real Kubernetes.
  const isKubernetes = (name) => kubernetes.includes(`"${name.replace(/^hyperpod_(node_health_status|training_operator_jobs)_|_(sum|count)$/g, '')}"`);
  const known = (name) => (name.startsWith('slurm_') ? slurms.includes(`| \`${name}\` |`) : name.startsWith('hyperpod_') ? isKubernetes(name) : isOurs(name));
  const all = expressions();
  assert.ok(all.length > 100);
  for (const [where, expression] of all) {
    await query(expression);
    for (const [name] of expression.matchAll(/\b(holdfast|process|slurm|hyperpod)_\w+/g)) assert.ok(known(name), `${where}: ${name} does not exist`);
  }
  const ready = await query('holdfast_group_nodes{state="ready"}');
  assert.deepEqual(ready.map((series) => [series.metric.cluster, series.metric.group, series.value[1]]), [['demo', 'w', '1']]);
});

test('each alert has its runbook', { skip }, () => {
  const runbooks = readFileSync(join(root, 'docs/runbooks.md'), 'utf8');
  const alerts = [...readFileSync(rules, 'utf8').matchAll(/- alert: (\w+)[\s\S]*?runbook: docs\/runbooks\.md#(\w+)/g)];
  assert.ok(alerts.length > 10);
  for (const [, name, anchor] of alerts) {
    assert.equal(anchor, name.toLowerCase());
    assert.ok(runbooks.includes(`\n## ${name}\n`), name);
  }
});

test('Prometheus finds the agents of the fleet by hpd, with cluster, group, node and state', { skip }, async () => {
  const up = await until('the agent was found and read', async () => {
    const found = await query('up{job="holdfast-agents"}');
    return found.length === 1 && found[0].value[1] === '1' && found;
  }, 60000);
  const { name } = (await local.get('/v1/clusters/demo/nodes')).items[0];
  const { job, instance, cluster, group, node } = up[0].metric;
  assert.deepEqual({ job, instance, cluster, group, node }, { job: 'holdfast-agents', instance: `127.0.0.1:${agentPort}`, cluster: 'demo', group: 'w', node: name });
  const measured = await until('three checks were read', async () => {
    const found = await query('holdfast_check_result{job="holdfast-agents"}');
    return found.length >= 3 && found;
  }, 60000);
  assert.ok(measured.every((series) => series.metric.node === name));
  const { data } = await (await fetch(`http://127.0.0.1:${port}/api/v1/targets`)).json();
  const target = data.activeTargets.find((one) => one.labels.job === 'holdfast-agents');
  assert.equal(target.discoveredLabels.__meta_holdfast_state, 'ready');
  assert.equal(target.discoveredLabels.__meta_holdfast_health, 'healthy');
});

test('a pause is seen by Prometheus', { skip }, async () => {
  const { status } = await local.call('POST', '/v1/clusters/demo/pause', { reason: 'network maintenance' });
  assert.ok(status < 300, String(status));
  await until('paused', async () => (await query('holdfast_cluster_paused{cluster="demo"}'))[0]?.value[1] === '1', 30000);
});
