// make install: what it puts where, that systemd takes the units as they are, and that nothing is left when it is taken away. No
// manager runs here, so the units are read and judged by systemd's own tools and not started.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { Local } from './lib/local.mjs';
import { agentService, hpdPath, root } from './lib/programs.mjs';

const prefix = mkdtempSync(join(tmpdir(), 'holdfast-install.'));
const units = join(prefix, 'lib/systemd/system');
// -o all: the programs are those under test, built already.
const make = (target) => execFileSync('make', ['-C', root, '-s', '-o', 'all', target, `PREFIX=${prefix}`, `BUILD=${dirname(hpdPath)}`], { encoding: 'utf8' });
const verify = () => spawnSync('systemd-analyze', ['verify', '--man=no', join(units, 'hpd.service'), join(units, 'hp-agent.service')], { encoding: 'utf8' });
const files = () => readdirSync(prefix, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

before(() => make('install'));
after(() => rmSync(prefix, { recursive: true, force: true }));

test('the programs run from where they were put', () => {
  for (const name of ['hpd', 'hpctl', 'hp-agent', 'hprun', 'hyperpodrun'])
    assert.match(execFileSync(join(prefix, 'bin', name), ['--version'], { encoding: 'utf8' }), /\d+\.\d+\.\d+/);
});

test('the manual pages of hpd and hp-agent name every option', () => {
  for (const name of ['hpd', 'hp-agent']) {
    const page = readFileSync(join(prefix, `share/man/man8/${name}.8`), 'utf8');
    const help = execFileSync(join(prefix, 'bin', name), ['--help'], { encoding: 'utf8' });
    const options = [...help.matchAll(/^ +--(?!help)([a-z-]+)(?!.* internal: )/gm)].map(([, option]) => option);
    assert.ok(options.length > 5);
    assert.deepEqual(options.filter((option) => !page.includes(`Fl -${option}`)), [], name);
  }
});

test('systemd has nothing to say against the units', () => {
  const seen = verify();
  assert.deepEqual([seen.status, seen.stderr.split('\n').filter((line) => line.includes(prefix))], [0, []]);
});

test('the units keep their processes from what they do not need', () => {
  for (const unit of ['hpd', 'hp-agent']) {
    // Exposure from 0 (best) to 10, times 10; the offline judgement needs no manager.
    const seen = spawnSync('systemd-analyze', ['security', '--offline=yes', '--no-pager', '--threshold=30', join(units, `${unit}.service`)], { encoding: 'utf8' });
    assert.equal(seen.status, 0, seen.stdout + seen.stderr);
  }
});

test('the drop-in for lifecycle scripts fits its unit', () => {
  const dropIns = join(units, 'hp-agent.service.d');
  mkdirSync(dropIns);
  cpSync(join(prefix, 'share/doc/holdfast/examples/hp-agent-lifecycle.conf'), join(dropIns, 'lifecycle.conf'));
  const seen = verify();
  assert.deepEqual([seen.status, seen.stderr.split('\n').filter((line) => line.includes(prefix))], [0, []]);
  rmSync(dropIns, { recursive: true });
});

test('published scripts find by a directory of HyperPod that --auto-resume is there', () => {
  const dest = join(prefix, 'dest');
  const run = (target) => execFileSync('make', ['-C', root, '-s', '-o', 'all', target, 'PREFIX=/usr/local', `DESTDIR=${dest}`, `BUILD=${dirname(hpdPath)}`]);
  run('install');
  assert.ok(existsSync(join(dest, 'opt/sagemaker_cluster')));
  run('uninstall');
  assert.ok(!existsSync(join(dest, 'opt/sagemaker_cluster')));
  rmSync(dest, { recursive: true });
});

// Of the objects that are built already, whatever their flags were.
const build = join(root, 'build');
const objects = ['agents/node/main.o', ...['agents', 'policy', 'model', 'base'].map((name) => `lib${name}.a`)].map((name) => join(build, name));
const archives = ['nettle', 'jansson', 'expat'].map((name) => `lib${name}.a`).filter((name) => execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim() === name);
const cannot = archives.length > 0 ? `no ${archives.join(', ')} on this machine` : objects.every((file) => existsSync(file)) ? false : 'build/ has no objects of the agent';

test('the agent for nodes that may install nothing needs libc alone, and reports', { skip: cannot, timeout: 300000 }, async (t) => {
  execFileSync('make', ['-C', root, '-s', ...objects.flatMap((file) => ['-o', file.replace(`${root}/`, '')]), 'static-agent', 'BUILD=build']);
  const program = join(build, 'hp-agent-static');
  const needed = [...execFileSync('readelf', ['-d', program], { encoding: 'utf8' }).matchAll(/NEEDED.*\[(.*)\]/g)].map(([, name]) => name);
  assert.deepEqual(needed.filter((name) => !/^(libc|libm|ld-linux.*)\.so/.test(name)), []);
  const world = new Local({ service: { ...agentService, command: [program, ...agentService.command.slice(1)] } });
  t.after(() => world.end());
  await world.start();
  await world.create(1);
  await world.ready(120000);
});

test('nothing is left when it is taken away', () => {
  assert.ok(files() >= 12);
  make('uninstall');
  assert.equal(files(), 0);
});
