// A fleet is measured, the machine that stands out is named and drawn, and the limits that come of it are ones that hpd takes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService, hpctlPath } from './lib/programs.mjs';

const SLOW = 180000;
let world;
after(() => world?.end());

const run = (...args) =>
  spawnSync(hpctlPath, args, { encoding: 'utf8', env: { ...process.env, COLUMNS: '80', HPCTL_URL: `http://127.0.0.1:${world.port}`, HPCTL_TOKEN: world.token } });
const hpctl = (...args) => {
  const done = run(...args);
  assert.equal(done.status, 0, `hpctl ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  return done.stdout;
};

test('a slow machine is found, drawn and put into limits', async () => {
  world = new Local();
  const tools = join(world.dir, 'tools');
  mkdirSync(tools);
  // Each machine computes at a rate of its own, and one of them at a third.
  writeFileSync(
    join(tools, 'stress-ng'),
    `#!/bin/sh
node=\${MACHINE##*-}
rate=90$node.25
[ "$node" != 3 ] || rate=300.25
echo "stress-ng: metrc: [1] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s" >&2
echo "stress-ng: metrc: [1] cpu               59910     60.01    119.20      0.09       $rate         502.22" >&2
`,
  );
  chmodSync(join(tools, 'stress-ng'), 0o755);
  const config = JSON.parse(readFileSync(world.config, 'utf8'));
  config.providers.local.services = [{ ...agentService, command: ['/usr/bin/env', `PATH=${tools}:/usr/bin:/bin`, 'MACHINE={node}', ...agentService.command] }];
  config.checks = { stressTime: '1s' };
  writeFileSync(world.config, JSON.stringify(config));
  await world.start();
  await world.create(6, { instanceGroups: [{ name: 'w', instanceCount: 6, provider: 'local', instanceType: 'ml.m5.large' }] });
  await world.ready(SLOW);
  const nodes = (await world.list('/v1/clusters/demo/nodes')).map((n) => n.name);
  assert.ok(nodes.includes('w-3'), nodes.join());
  assert.deepEqual(JSON.parse(hpctl('check', 'baseline', '-c', 'demo', '-o', 'json')), []);

  const svg = join(world.dir, 'plot.svg'), yaml = join(world.dir, 'limits.yaml');
  const shown = hpctl('check', 'baseline', '-c', 'demo', '-g', 'w', '--run', '--timeout', '3m', '--ascii', '--plot', svg, '--write', yaml);
  assert.match(shown, /ml\.m5\.large +cpu bogo ops\/s +6 +903\.25 .*cpu bogo ops\/s >= 858 +w-3 \(300\.25\)/);
  assert.match(shown, /w-3[\s\S]*samples, by node/); // the plot names it
  assert.match(readFileSync(svg, 'utf8'), /^<svg[\s\S]*w-3[\s\S]*<\/svg>/);

  const [row] = JSON.parse(hpctl('check', 'baseline', '-c', 'demo', '--metric', 'cpu bogo ops/s', '-o', 'json'));
  assert.deepEqual([row.samples, row.median, row.outliers], [6, 903.25, [{ node: 'w-3', value: 300.25 }]]);
  assert.equal(row.proposal, 'cpu bogo ops/s >= 858');
  assert.deepEqual(JSON.parse(hpctl('check', 'baseline', '-c', 'demo', '--metric', 'none such', '-o', 'json')), []);
  // Fewer than five samples propose nothing.
  const few = JSON.parse(hpctl('check', 'baseline', '-c', 'demo', '--nodes', 'w-[1-3]', '--metric', 'cpu bogo ops/s', '-o', 'json'));
  assert.deepEqual([few[0].samples, few[0].outliers, few[0].proposal], [3, [], undefined]);
  assert.equal(run('check', 'baseline', '-c', 'demo', '--nodes', 'w-[1-3]', '--write', yaml).status, 2);

  // What was written stands in a configuration as it is.
  const own = join(world.dir, 'own.yaml');
  writeFileSync(own, readFileSync(yaml, 'utf8'));
  const other = new Local();
  try {
    other.config = own;
    await other.start();
  } finally {
    await other.end();
  }
});
