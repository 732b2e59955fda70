// Batch jobs with a step under srun --auto-resume, for the stories that break them.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { until } from '../lib/world.mjs';

export const JOB_MS = 240000;

// The lines, in this order, with whatever stands between them.
export function inOrder(text, patterns) {
  let from = 0;
  for (const pattern of patterns) {
    const found = pattern.exec(text.slice(from));
    assert.ok(found, `${pattern} in:\n${text}`);
    from += found.index + found[0].length;
  }
}

export class Steps {
  constructor(world) {
    this.world = world;
  }

  file(name) {
    return join(this.world.dir, name);
  }

  read(name) {
    return existsSync(this.file(name)) ? readFileSync(this.file(name), 'utf8') : '';
  }

  // A training in small: a counter on shared disk that grows by one every 200 ms to the last step, from where it stood. Rank 0 fails where
  // there is a file NAME.crash, which it removes. then: what the batch script does afterwards. In an array each task has a name of its own.
  // The plugin has the job outlive its nodes (--no-kill), as its script names --auto-resume.
  submit(name, { steps = 60, nodes = 2, options = [], mode = '1', srun = '', each = '', then = '' } = {}) {
    const base = `${this.file(name)}$\{SLURM_ARRAY_TASK_ID:+.$SLURM_ARRAY_TASK_ID}`;
    writeFileSync(this.file(`${name}.step`), `#!/bin/bash
base=${base}
if [ "$SLURM_PROCID" != 0 ]; then
  until [ -e $base.done ]; do sleep 0.2; done
  exit 0
fi
at=$(cat $base.checkpoint 2>/dev/null || echo 0)
echo "attempt $HOLDFAST_AUTO_RESUME_ATTEMPT from $at on $SLURM_STEP_NODELIST"
while [ "$at" -lt ${steps} ]; do
  at=$((at + 1))
  echo $at >$base.next && mv $base.next $base.checkpoint
  if [ -e $base.crash ]; then rm $base.crash; exit 9; fi
  ${each}
  sleep 0.2
done
echo trained
touch $base.done
`, { mode: 0o755 });
    writeFileSync(this.file(`${name}.sh`), `#!/bin/bash\nsrun --auto-resume=${mode} -N${nodes} -n${nodes} ${srun} ${this.file(`${name}.step`)}\necho "srun ended $?"\n${then}\n`, { mode: 0o755 });
    const out = options.some((o) => o.startsWith('--array')) ? `${name}.%a.out` : `${name}.out`;
    return this.world.slurmRun('sbatch', '--parsable', '--requeue', `-N${nodes}`, '-D', this.world.dir, '-o', this.file(out), ...options, this.file(`${name}.sh`));
  }

  async trains(name, from = 3) {
    await until(`${name} trains`, () => Number(this.read(`${name}.checkpoint`)) > from, JOB_MS);
  }

  // A step that hpd has not heard of yet is not asked to make way: its job is requeued like any other.
  async isKnown(job) {
    await until(`hpd knows of a step of job ${job}`, () => this.world.json('job', 'describe', job).attempts.length > 0, JOB_MS);
  }

  nodes(job) {
    return this.world.slurmRun('scontrol', 'show', 'hostnames', this.world.slurmRun('squeue', '-h', '-j', job, '-t', 'R', '-o', '%N')).split('\n');
  }

  batchHost(job) {
    return this.world.slurmRun('squeue', '-h', '-j', job, '-t', 'R', '-o', '%B');
  }

  // A node of the job that its batch script is not on.
  other(job) {
    return this.nodes(job).find((node) => node !== this.batchHost(job));
  }

  async over(job, name) {
    const ended = () => this.world.slurmRun('squeue', '-h', '-a', '-t', 'all', '-j', job, '-o', '%T').split('\n').every((state) => ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL'].includes(state));
    await until(`job ${job} is over`, () => ended() && this.read(`${name}.out`) !== '', JOB_MS).catch((error) => {
      throw new Error(`${error.message}\n${this.read(`${name}.out`)}`);
    });
    return this.read(`${name}.out`);
  }

  async noHelper() {
    await until('no job that waited for a node is left', () => !/auto-resume-/.test(this.world.slurmRun('squeue', '-h', '-a', '-o', '%j %T')));
  }

  // As a loss of power: everything that runs on the node's machine ends at once, without a word.
  powerOff(node) {
    const { world } = this;
    const dir = join(world.dir, 'instances', world.node(node).instanceId);
    const children = new Map();
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ')[1];
        children.set(parent, [...(children.get(parent) ?? []), pid]);
      } catch { /* it has ended */ }
    }
    const doomed = [readFileSync(join(dir, 'machine.pid'), 'utf8').split(' ')[0]];
    for (let i = 0; i < doomed.length; i++) doomed.push(...(children.get(doomed[i]) ?? []));
    for (const pid of doomed.map(Number).filter((pid) => pid > 1)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch { /* it has ended */ }
    }
    world.lab('end', world.slurm, node); // what slurmd had begun and that no longer is its child
  }
}
