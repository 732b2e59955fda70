// The ways by which hpd speaks to Slurm. What holds in one has to hold in each: who tests a subject runs its essential stories over all.
import { describe } from 'node:test';

const PROGRAMS_HERE = { name: 'local commands', way: 'here' };
const PROGRAMS_BY_SSH = { name: 'the same commands over SSH', way: 'ssh' };
// Of 22.05 slurmrestd changes no node, no reservation and no partition, nor writes a file: Slurm's programs do that, here or by SSH.
const SLURMRESTD = { name: 'slurmrestd, and local commands for what it cannot do', way: 'rest' };
const SLURMRESTD_AND_SSH = { name: 'slurmrestd, and commands over SSH for what it cannot do', way: 'rest+ssh' };

export const WAYS = [PROGRAMS_HERE, PROGRAMS_BY_SSH, SLURMRESTD];
export const MANAGED_WAYS = [PROGRAMS_BY_SSH, SLURMRESTD_AND_SSH]; // local commands: manage.test.mjs

export function inEachWay(ways, stories) {
  for (const { name, way } of ways) describe(name, () => stories(way));
}
