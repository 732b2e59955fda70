// The connectivity test by real MPI (Debian's Open MPI and NetPIPE) between nodes that real slurmd's run: where there is neither an
// accelerator nor fi_pingpong. All nodes are this machine, so the remote shell that mpirun starts its daemons by is a local one.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { agentService } from '../lib/programs.mjs';
import { World, until } from '../lib/world.mjs';

const SLOW = 300000;
const world = new World({ cluster: false });
const check = (id) => world.json('check', 'describe', id);

after(() => world.end());

function script(path, body) {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

test('two nodes of Slurm are tested together by MPI, and it says what it is', async () => {
  const tools = join(world.dir, 'mpi-tools');
  mkdirSync(tools);
  for (const name of ['mpirun', 'orted', 'NPopenmpi', 'sh', 'env']) symlinkSync(join('/usr/bin', name), join(tools, name));
  const shell = script(join(world.dir, 'rsh'), 'shift\nexec /bin/sh -c "$*"');
  const start = script(join(world.dir, 'start'), `node=$1; shift\nPATH=${tools}\nOMPI_MCA_plm_rsh_agent=${shell}\nOMPI_MCA_oob_tcp_if_include=lo\nOMPI_MCA_btl_tcp_if_include=lo\nOMPI_MCA_btl=tcp,self\nexport PATH OMPI_MCA_plm_rsh_agent OMPI_MCA_oob_tcp_if_include OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl\nexec "$@" --address 127.0.8.\${node##*-}`);
  world.options.agent = { ...agentService, command: ['/bin/sh', start, '{node}', ...agentService.command] };
  await world.start();
  const file = join(world.dir, 'cluster.yaml');
  writeFileSync(file, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups: [{ name: 'workers', instanceCount: 2, nodeNames: 'gpu-[1-2]' }] }));
  assert.equal(world.hpctl('cluster', 'create', '-f', file).code, 0);
  await until('two nodes are ready', () => {
    const nodes = world.json('node', 'list');
    return nodes.length === 2 && nodes.every((n) => n.state === 'ready' && n.health === 'healthy' && world.slurmNode(n.name).state === 'IDLE');
  }, SLOW);
  const { checks } = world.json('check', 'start', '--nodes', 'gpu-[1-2]', '--check', 'connectivity', '--quick');
  for (const { id, node } of checks) {
    const run = await until(`${node} has been tested`, () => check(id).finishedAt && check(id), SLOW);
    const one = run.tests.find((t) => t.name === 'CONNECTIVITY');
    assert.equal(one.state, 'passed', JSON.stringify(run));
    assert.ok(one.measures.some((m) => m.name === 'tested with' && m.value === 'mpi-netpipe'), JSON.stringify(one));
  }
  // The one that served has measured it, and says what it was.
  const measured = checks.map(({ id }) => check(id).tests[0].measures.find((m) => / MB\/s$/.test(m.name))).filter(Boolean);
  assert.ok(measured.length === 1 && Number(measured[0].value) > 0, JSON.stringify(measured));
  assert.ok(checks.some(({ id }) => /NetPIPE over MPI, a stand-in for an all-reduce/.test(world.hpctl('check', 'logs', id).out)));
  await until('both take work again', () => ['gpu-1', 'gpu-2'].every((n) => world.node(n).state === 'ready' && world.slurmNode(n).state === 'IDLE'), SLOW);
});
