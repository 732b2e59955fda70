// A fake of the command lines that docs/examples/providers run (tests/support/fake-clouds), and the examples as hpd runs them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './programs.mjs';

export const examples = join(root, 'docs/examples/providers');

export class Clouds {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'holdfast-clouds.'));
    this.machines = join(this.dir, 'machines');
    for (const name of ['machines', 'bin', 'ipmi']) mkdirSync(join(this.dir, name));
    for (const name of ['aws', 'openstack', 'maas', 'ipmitool']) symlinkSync(join(root, 'tests/support/fake-clouds'), join(this.dir, 'bin', name));
    const bin = (name) => join(this.dir, 'bin', name);
    this.environment = {
      FAKE: this.dir, AWS: bin('aws'), OPENSTACK: bin('openstack'), MAAS: bin('maas'), IPMITOOL: bin('ipmitool'),
      EC2_LAUNCH_TEMPLATE: 'gpu', EC2_NOT_FOUND_SECONDS: '0', OPENSTACK_FLAVOR: 'g', OPENSTACK_IMAGE: 'debian', OPENSTACK_NETWORK: 'net', MAAS_PROFILE: 'site',
      IPMI_MACHINES: join(this.dir, 'ipmi.json'), IPMI_STATE: join(this.dir, 'ipmi'), IPMI_USER: 'admin', IPMI_PASSWORD_FILE: '/dev/null',
    };
  }

  // Machines that were there before anyone asked: MAAS's and those with a BMC.
  own(...machines) {
    for (const machine of machines) writeFileSync(join(this.machines, `${machine.id}.json`), JSON.stringify(machine));
    const withBmc = machines.filter((machine) => machine.bmc);
    if (withBmc.length) writeFileSync(join(this.dir, 'ipmi.json'), JSON.stringify(Object.fromEntries(withBmc.map(({ id, bmc }) => [id, { bmc, address: '10.0.0.9' }]))));
  }

  machine(id) {
    return JSON.parse(readFileSync(join(this.machines, `${id}.json`), 'utf8'));
  }

  all() {
    return readdirSync(this.machines).filter((name) => name.endsWith('.json')).map((name) => this.machine(name.slice(0, -5)));
  }

  change(id, members) {
    writeFileSync(join(this.machines, `${id}.json`), JSON.stringify({ ...this.machine(id), ...members }));
  }

  fail(word, error) {
    if (word) writeFileSync(join(this.dir, 'fail'), JSON.stringify({ word, error }));
    else rmSync(join(this.dir, 'fail'), { force: true });
  }

  calls(word) {
    return readFileSync(join(this.dir, 'calls'), 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((call) => call.includes(word));
  }

  // {code, answer, error}: one run, with the small environment that hpd gives.
  run(provider, action, request, input = JSON.stringify({ version: 1, action, provider, timeoutSeconds: 120, instanceId: 'i-1', ...request })) {
    const done = spawnSync(join(examples, provider, action), [], {
      input, encoding: 'utf8', env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', ...this.environment },
    });
    if (done.error) throw done.error;
    const answer = done.stdout.trim() === '' ? undefined : JSON.parse(done.stdout);
    return { code: done.status, answer, error: done.stderr.trim().split('\n').pop() };
  }

  end() {
    for (const { pid } of this.all()) {
      try {
        if (pid) process.kill(-pid, 'SIGKILL');
      } catch {
        // it has ended
      }
    }
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
