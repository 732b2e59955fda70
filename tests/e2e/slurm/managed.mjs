// The world of a managed Slurm: the lab's nodes become the first managed ones; what they share is slurm.conf's, their ports are by
// number.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../lib/programs.mjs';
import { World, until } from '../lib/world.mjs';

export const WAIT_MS = 240000;
const lab = join(root, 'tests/support/slurm-lab');

export const group = (name, instanceCount, partition, more = {}) => ({ name, instanceCount, slurmConfig: { nodeType: 'Compute', partitionNames: [partition] }, ...more });

export class Managed extends World {
  // options.manage: more of slurm.manage; slurmConf: more lines of slurm.conf; empty, links: what else has to be there; ambush: see below.
  writeConfig() {
    if (!this.options.config) this.takeOver();
    super.writeConfig();
  }

  takeOver() {
    if (this.options.ambush) this.ambush();
    const conf = this.env.SLURM_CONF;
    const text = readFileSync(conf, 'utf8');
    const [, first] = /^NodeName=gpu-1 .*Port=(\d+)/m.exec(text);
    const kept = text.split('\n').filter((line) => !/^(NodeName|PartitionName)=/.test(line)).join('\n');
    this.file = join(this.slurm, 'holdfast.conf');
    writeFileSync(conf, `${kept}\n${this.options.slurmConf ?? ''}\nNodeName=DEFAULT CPUs=4 RealMemory=1024\nInclude ${this.file}\n`);
    writeFileSync(this.file, '');
    for (const name of this.options.empty ?? []) writeFileSync(join(this.slurm, name), '');
    for (const [name, to] of Object.entries(this.options.links ?? {})) symlinkSync(to, join(this.slurm, name));
    const restart = `scontrol ping | grep -q UP && scontrol shutdown slurmctld; p=$(cut -d" " -f1 ${this.slurm}/run/slurmctld.pid); for i in $(seq 100); do [ -d /proc/$p ] || break; sleep 0.1; done; ${lab} end ${this.slurm} slurmctld; ${lab} begin ${this.slurm} slurmctld && for i in $(seq 300); do scontrol ping | grep -q UP && exit 0; [ -d /proc/$(cut -d" " -f1 ${this.slurm}/run/slurmctld.pid) ] || exit 1; sleep 0.1; done; exit 1`;
    this.options.config = { slurm: { conf, timeout: '10s', ...this.wayConfig(), manage: { file: this.file, portBase: Number(first) - 1, restart: ['sh', '-c', restart], ...this.options.manage?.(this) } } };
    // A slurmd ends at once when slurm.conf does not have its node yet.
    this.slurmd = ['sh', '-c', `until grep -q "^NodeName=$0 " ${this.file}; do sleep 0.2; done; exec "$@"`, '{node}', ...this.slurmd.filter((arg) => !arg.includes('-b'))]; // with -b each reconfigure looks like a reboot
  }

  read(name = 'holdfast.conf') {
    const path = join(this.slurm, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  edit(from, to) {
    writeFileSync(this.file, this.read().replace(from, to));
  }

  // trap(n) kills hpd with SIGKILL when the nth from now on of the programs by which it changes things has run; trap(0) does not.
  ambush() {
    const dir = join(this.dir, 'ambush');
    mkdirSync(dir);
    this.env.PATH = `${dir}:${process.env.PATH}`;
    for (const program of ['mv', 'rm', 'cp', 'sync', 'scontrol']) {
      const real = spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();
      writeFileSync(join(dir, program), `#!/bin/sh
d=${dir}
[ "${program}" != scontrol ] || [ "$1" = reconfigure ] || exec ${real} "$@"
[ -s $d/at ] || exec ${real} "$@"
echo "${program} $*" >>$d/seen
[ "$(wc -l <$d/seen)" = "$(cat $d/at)" ] || exec ${real} "$@"
: >$d/at
${real} "$@"
kill -9 "$(cat $d/hpd)"
`);
      chmodSync(join(dir, program), 0o755);
    }
    this.trap = (at) => {
      writeFileSync(join(dir, 'hpd'), String(this.hpd.pid));
      writeFileSync(join(dir, 'seen'), '');
      writeFileSync(join(dir, 'at'), at > 0 ? String(at) : '');
    };
    this.seen = () => readFileSync(join(dir, 'seen'), 'utf8').split('\n').filter(Boolean);
  }

  async apply(instanceGroups) {
    const spec = join(this.dir, 'apply.yaml');
    writeFileSync(spec, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups }));
    const run = this.hpctl('apply', '-f', spec, '--yes');
    if (run.code !== 0) throw new Error(run.err);
  }

  async make(instanceGroups) {
    await this.createManaged(instanceGroups);
    await this.inService(instanceGroups.reduce((sum, g) => sum + g.instanceCount, 0));
  }

  async createManaged(instanceGroups) {
    const made = join(this.dir, 'cluster.yaml');
    writeFileSync(made, JSON.stringify({ name: 'demo', nodeRecovery: 'Automatic', instanceGroups }));
    const run = this.hpctl('cluster', 'create', '-f', made);
    if (run.code !== 0) throw new Error(run.err);
  }

  inService(count) {
    return until(`${count} nodes ready`, () => {
      const nodes = this.json('node', 'list');
      return nodes.length === count && nodes.every((n) => n.state === 'ready');
    }, WAIT_MS);
  }

  partitions() {
    return Object.fromEntries(this.slurmRun('sinfo', '-h', '-o', '%R %N').split('\n').map((line) => line.trim().split(' ')).map(([name, nodes]) => [name, nodes ?? '']));
  }
}
