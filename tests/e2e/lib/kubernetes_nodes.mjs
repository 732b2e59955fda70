// A KubernetesWorld whose nodes are whole: each machine runs containerd and kubelet (tests/support/kubernetes-kubelet), so its pods are
// processes, and a reboot or the end of the machine ends them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HEALTH, HYPERPOD, KubernetesWorld, cannot } from './kubernetes.mjs';
import { root } from './programs.mjs';
import { until } from './world.mjs';

const rig = join(root, 'tests/support/kubernetes-kubelet');
export const POD_IMAGE = 'holdfast.test/pod:1';

// Why this machine cannot run a whole node; undefined: it can.
export function cannotRunNodes() {
  const why = cannot();
  if (why) return why;
  const run = spawnSync(rig, ['can'], { encoding: 'utf8' });
  return run.status === 0 ? undefined : run.stderr.trim().split('\n').at(-1);
}

export class NodesWorld extends KubernetesWorld {
  async start() {
    mkdirSync(join(this.kubernetes, 'images'), { recursive: true });
    this.pack(POD_IMAGE, 'pod', '/bin/busybox=/bin/busybox', '/bin/busybox=/bin/sh', '--', 'sleep', '1000000');
    return super.start();
  }

  // An image that each node has from its first start.
  pack(image, file, ...programs) {
    const run = spawnSync(join(root, 'scripts/image'), [image, join(this.kubernetes, 'images', `${file}.tar`), ...programs], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`scripts/image: ${run.stderr}`);
  }

  kubelet() {
    const labels = `holdfast/node={node},${HYPERPOD}instance-group-name=workers,node.kubernetes.io/instance-type=ml.p5.48xlarge`;
    return { name: 'kubelet', command: [rig, 'run', this.kubernetes, '{dir}/node', 'hyperpod-{instance}', '{bootIdFile}', '--node-labels', labels, '--provider-id', 'aws:///lab-1a/{instance}', '--register-with-taints', `${HEALTH}=Unschedulable:NoSchedule`] };
  }

  instances() {
    const dir = join(this.dir, 'instances');
    return existsSync(dir) ? readdirSync(dir).map((id) => join(dir, id)) : [];
  }

  // The processes of a node: those that see its disk.
  processes(dir = this.dir) {
    return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid).filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(dir) || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dir);
      } catch {
        return false; // it ended just now
      }
    });
  }

  async end() {
    const keep = process.env.KEEP;
    process.env.KEEP = 'yes'; // the directory names the bridges
    try {
      await super.end();
    } finally {
      if (keep === undefined) delete process.env.KEEP;
      for (const dir of this.instances()) await until(`nothing is left of ${dir}`, () => {
        const run = spawnSync(rig, ['clean', join(dir, 'node')], { encoding: 'utf8' });
        if (run.status !== 0) throw new Error(run.stderr);
        return true;
      });
      if (!keep) rmSync(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
  }
}
