// Another machine in a slot has another name: its agent tells it, and Slurm's NodeHostName follows, also after Slurm has read its file again.
// All of the lab's machines are this one; a name that every machine has is told to nobody.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentService } from '../lib/programs.mjs';
import { World, until } from '../lib/world.mjs';

const own = hostname().split('.')[0];
let world;
const shown = (name) => / NodeHostName=(\S+)/.exec(world.slurmRun('scontrol', 'show', 'node', '-o', name))[1];
const told = (node) => world.events({ node, kind: 'scheduler-address' }).filter((event) => event.message.includes('is called'));

before(async () => {
  world = new World({ nodes: 2, agent: { ...agentService, command: agentService.command.map((word) => (word === 'none' ? 'machine' : word)) } });
  await world.start();
  // The site's own name for one of them, before hpd has told Slurm anything of it again.
  const conf = join(world.slurm, 'slurm.conf');
  writeFileSync(conf, readFileSync(conf, 'utf8').replace(/^(NodeName=gpu-1 .*)NodeHostname=localhost/mi, '$1NodeHostname=rack7-slot3'));
  world.slurmRun('scontrol', 'reconfigure');
});

after(() => world.end());

test('a machine that took another one\'s place is shown under its own name', { skip: own === 'localhost' && 'this machine is called localhost' }, async () => {
  world.slurmRun('scontrol', 'update', 'NodeName=gpu-2', 'State=FAIL', 'Reason=Action:Replace');
  await world.repaired('gpu-2', 'replace');
  await until('gpu-2 has its name', () => shown('gpu-2') === own);
  const hardware = world.json('node', 'hardware', 'gpu-2').hardware.filter((piece) => piece.kind === 'host-name');
  assert.deepEqual(hardware.map((piece) => [piece.detail, piece.identity ?? '']), [[own, '']]);
  assert.match(told('gpu-2').at(-1).message, new RegExp(`told that the node's machine is called ${own}; it showed localhost`));
  await until('gpu-2 idle', () => world.slurmNode('gpu-2').state === 'IDLE');
  assert.equal(world.slurmRun('srun', '-w', 'gpu-2', '-N1', 'printenv', 'SLURMD_NODENAME'), 'gpu-2', 'and jobs run there');
});

test('when Slurm has forgotten it, it is told again; a name that the site gave stays', { skip: own === 'localhost' && 'this machine is called localhost' }, async () => {
  const before = told('gpu-2').length;
  world.slurmRun('scontrol', 'reconfigure');
  assert.equal(shown('gpu-2'), 'localhost', 'slurm.conf counts again');
  await until('gpu-2 has its name again', () => shown('gpu-2') === own && told('gpu-2').length === before + 1);
  assert.equal(shown('gpu-1'), 'rack7-slot3');
});
