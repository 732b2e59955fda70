// What hprun costs: the log of workers read by rules, beside Python's re, with which HyperPod's agent does it, and beside the scan alone; and
// what it takes to be there, beside PyTorch's torchrun.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { build, dir, median, memoryMb, number, rounds, say, start, stop, until } from './lib.mjs';

const PYTHON = '/usr/bin/python3'; // Debian's, which has PyTorch
const LOG_BYTES = 64e6;
const WORKERS = 4;

function run(command, args) {
  const ran = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  if (ran.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${ran.stderr}`);
  return ran.stdout;
}

/** Rules of HyperPod's guide over a log of which one line in twenty matches; one core each. */
export async function joblog() {
  const [log, rules] = [join(dir, 'job.log'), join(dir, 'rules.json')], [ours, theirs] = [[], []];
  run(join(build, 'bench/joblog'), ['make', String(LOG_BYTES), log, rules]);
  for (let i = 0; i < rounds; i++) {
    ours.push(JSON.parse(run(join(build, 'bench/joblog'), ['read', log, rules])));
    theirs.push(JSON.parse(run(PYTHON, ['bench/joblog.py', log, rules])));
    if (JSON.stringify(ours[i].matches) !== JSON.stringify(theirs[i].matches)) throw new Error(`they do not find the same: ${JSON.stringify([ours[i].matches, theirs[i].matches])}`);
  }
  const ratio = (of) => median(ours.map((one, i) => one.mbPerSecond / of(i))), speed = (list, field) => `${number(median(list.map((one) => one[field])))} MB/s`;
  say('output of workers read by six rules, one core', speed(ours, 'mbPerSecond'), `${ratio((i) => ours[i].scanMbPerSecond).toFixed(2)} of the scan alone (${speed(ours, 'scanMbPerSecond')})`);
  say("  Python's re, as HyperPod's agent does it", speed(theirs, 'mbPerSecond'), `ratio ${ratio((i) => theirs[i].mbPerSecond).toFixed(0)}`);
}

// PyTorch 1.13 on Python 3.11 needs --redirects and --tee.
const TORCHRUN = ['-m', 'torch.distributed.run', '--redirects', '1', '--tee', '1', '--log_dir', dir];
const HPRUN = ['--redirects', '1', '--tee', '1', '--log-dir', dir];

function timed(command, args) {
  const begin = performance.now();
  run(command, args);
  return performance.now() - begin;
}

// Of all restarts of a worker that writes when it begins and then dies: from a death to the next beginning, in ms.
function restarts(command, args, name) {
  const times = join(dir, name), script = `date +%s%N >>${times}; exit 1`;
  spawnSync(command, [...args, '--max_restarts', '3', '--nproc_per_node', '1', '--no_python', '/bin/sh', '-c', script], { encoding: 'utf8' });
  const at = readFileSync(times, 'utf8').trim().split('\n').map(Number);
  if (at.length !== 4) throw new Error(`${command}: ${at.length} starts, not 4`);
  return at.slice(1).map((one, i) => (one - at[i]) / 1e6);
}

async function memory(command, args, ready) {
  const child = start(command, args);
  await until('the workers run', () => existsSync(ready));
  const mb = memoryMb(child.pid);
  await stop(child);
  return mb;
}

export async function launcher() {
  const hprun = join(build, 'hprun'), times = { hprun: [], torchrun: [], nothing: [] }, common = ['--nproc_per_node', String(WORKERS), '--no_python'];
  for (let i = 0; i < 2 * rounds; i++) {
    times.nothing.push(timed('/bin/true', []));
    times.hprun.push(timed(hprun, [...HPRUN, ...common, '/bin/true']));
    times.torchrun.push(timed(PYTHON, [...TORCHRUN, ...common, '/bin/true']));
  }
  const ms = (list) => `${median(list).toFixed(1)} ms`;
  say(`hprun with ${WORKERS} workers that do nothing, from start to end`, ms(times.hprun), `/bin/true ${ms(times.nothing)}`);
  say('  torchrun', ms(times.torchrun), `ratio ${(median(times.torchrun) / median(times.hprun)).toFixed(0)}`);
  const again = [restarts(hprun, HPRUN, 'again.hprun'), restarts(PYTHON, TORCHRUN, 'again.torchrun')];
  say('a worker that died is started anew within', ms(again[0]), `torchrun ${ms(again[1])}: it looks every 5 s`);
  const rules = join(dir, 'launcher-rules.json'), script = (name) => ['/bin/sh', '-c', `touch ${join(dir, name)}; exec sleep 60`];
  run(join(build, 'bench/joblog'), ['make', '1000', join(dir, 'small.log'), rules]);
  const plain = await memory(hprun, [...HPRUN, ...common, ...script('plain')], join(dir, 'plain'));
  const ruled = await memory(hprun, [...HPRUN, '--log-rules', rules, ...common, ...script('ruled')], join(dir, 'ruled'));
  const torch = await memory(PYTHON, [...TORCHRUN, ...common, ...script('torch')], join(dir, 'torch'));
  say(`memory of hprun with ${WORKERS} workers (resident)`, `${plain.toFixed(1)} MB`, `with six rules ${ruled.toFixed(1)} MB`);
  say('  torchrun', `${torch.toFixed(0)} MB`, `ratio ${(torch / ruled).toFixed(0)}`);
}
