// An hpd of its own for a test file: an empty directory, a port that the kernel chooses, ended by pid. Its local provider's
// machines run nothing but a sleep, so that the test itself can speak as their agent, with the token that was made for it.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hpdPath } from '../lib/programs.mjs';

export const CONFIG = {
  providers: { local: { bootDelay: '10ms', services: [{ name: 'idle', command: ['/bin/sleep', '600'] }] }, rack: { kind: 'inventory' }, site: { kind: 'command', directory: '/nowhere' } },
  nodeCommands: { user: 'nobody', keyFile: '/nowhere', port: 1, timeoutMax: '1m' },
  // An agent that never comes is given up soon, so that operations end without one.
  recovery: { observeInterval: '100ms', retryMin: '50ms', retryMax: '200ms', joinDeadline: '3s', verifyQuiet: '100ms', verifyDeadline: '2s', backendDeadline: '5s' },
};

export class Hpd {
  async start() {
    this.dir = mkdtempSync(join(tmpdir(), 'holdfast-api.'));
    const config = join(this.dir, 'hpd.yaml');
    // A site's executables, of which describe lies.
    const site = join(this.dir, 'site');
    mkdirSync(site);
    for (const name of ['launch', 'describe', 'reboot', 'terminate'])
      writeFileSync(join(site, name), name === 'describe' ? '#!/bin/sh\necho \'{"state":"running"}\'\n' : '#!/bin/sh\nexit 3\n', { mode: 0o755 });
    writeFileSync(config, JSON.stringify({ ...CONFIG, providers: { ...CONFIG.providers, site: { kind: 'command', directory: site } } })); // JSON is YAML
    const args = ['--state-dir', join(this.dir, 'state'), '--listen', '127.0.0.1:0', '--config', config];
    this.process = spawn(hpdPath, args, { stdio: ['ignore', 'inherit', 'pipe'] });
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.log = '';
    this.url = await new Promise((resolve, reject) => {
      this.process.on('error', reject);
      this.process.on('exit', (code) => reject(new Error(`hpd ended with ${code}: ${this.log}`)));
      this.process.stderr.on('data', (data) => {
        this.log += data;
        const said = /listening on (\S+?),/.exec(this.log);
        if (said) resolve(said[1]);
      });
    });
    this.admin = readFileSync(join(this.dir, 'state/admin.token'), 'utf8').trim();
    return this;
  }

  // What the provider handed to an instance; undefined while it is not there yet.
  instance(id) {
    const at = join(this.dir, 'state/instances', id);
    const read = (name) => (existsSync(join(at, name)) ? readFileSync(join(at, name), 'utf8').trim() : undefined);
    return { token: read('token'), bootId: read('boot_id') };
  }

  async stop() {
    this.process.kill('SIGTERM');
    const code = await this.ended;
    const instances = join(this.dir, 'state/instances');
    for (const id of existsSync(instances) ? readdirSync(instances) : []) {
      const file = join(instances, id, 'machine.pid');
      const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[0]) : 0;
      // Only what is still the machine that we started.
      if (pid > 1 && existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(instances, id)))
        process.kill(pid, 'SIGTERM');
    }
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    return code;
  }
}
