// What the agent costs its node and how soon it speaks: the kernel log's lines a second, a fault's way to the server, memory and
// processor beside prometheus-node-exporter.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  answers, build, childMemory, cpuMs, dir, freePort, hpd, median, memoryMb, number, proportionalMb, quantile, rounds, say, start,
  stop, until,
} from './lib.mjs';

// --- the kernel log ----------------------------------------------------------------------------------------------

const logLines = 200000;

function run(command, args, env = {}) {
  const from = process.hrtime.bigint();
  const done = spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, ...env } });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.stderr}`);
  return { out: done.stdout, seconds: Number(process.hrtime.bigint() - from) / 1e9 };
}

function same(who, found, wanted) {
  if (found !== wanted) throw new Error(`${who} finds ${found} lines, not ${wanted}: the comparison is not one of equals`);
}

/** The same log and the same patterns; each contestant has to find the same lines. */
export function kmsg() {
  const [log, expression] = [join(dir, 'kernel.log'), join(dir, 'expression')];
  const made = JSON.parse(run(join(build, 'bench/kmsg'), ['make', String(logLines), log, expression]).out);
  const python = spawnSync('python3', ['--version']).status === 0;
  const [records, file, grep, one, each] = [[], [], [], [], []];
  let version = '';
  for (let i = 0; i < rounds; i++) {
    const ours = JSON.parse(run(join(build, 'bench/kmsg'), ['read', log]).out);
    same('hp-agent', ours.findings, made.findings);
    records.push(ours.recordSeconds);
    file.push(ours.fileSeconds);
    const grepped = run('grep', ['-c', '-P', '-f', expression, log], { LC_ALL: 'C' });
    same('grep', Number(grepped.out), made.known);
    grep.push(grepped.seconds);
    if (!python) continue;
    const theirs = JSON.parse(run('python3', ['bench/kmsg.py', log, expression]).out);
    same('python3', theirs.known, made.known);
    one.push(theirs.seconds);
    each.push(theirs.eachSeconds);
    version = theirs.version;
  }
  const rate = (list) => `${number(logLines / median(list))}/s`;
  const ratio = (ours, theirs) => Number(median(ours.map((took, i) => theirs[i] / took)).toPrecision(2));
  say('kernel log lines read by hp-agent, records one by one', rate(records),
      `${number(logLines)} lines, one in ${number(logLines / made.known)} known; ${(median(records) / logLines * 1e9).toFixed(0)} ns each`);
  say('  the same as a file that it follows', rate(file));
  say('  grep -P, all patterns as one expression, from a file', rate(grep), `ours to it: ratio ${ratio(file, grep)}`);
  if (!python) return say('  Python', 'not measured', 'there is no python3 here');
  say(`  Python ${version}, all patterns as one expression, from memory`, rate(one), `ours to it: ratio ${ratio(records, one)}`);
  say(`  Python ${version}, one pattern after the other`, rate(each), `ours to it: ratio ${ratio(records, each)}`);
}

// --- agents ------------------------------------------------------------------------------------------------------

/** hp-agent as node number i of the fleet, with a file for its kernel log. */
async function startAgent(server, i, ...more) {
  const node = `bench-${String(i).padStart(6, '0')}`;
  const reply = await fetch(`${server.url}/v1/tokens`, {
    method: 'POST', headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'enrollment', cluster: 'bench', node }),
  });
  const state = join(dir, `${server.name}-agents`, node);
  const [token, log] = [join(state, 'token'), join(state, 'kmsg')];
  mkdirSync(state, { mode: 0o700, recursive: true });
  writeFileSync(token, (await reply.json()).secret);
  writeFileSync(log, '');
  const instance = readFileSync(server.nodes, 'utf8').split('\n')[i].split(' ')[2];
  const child = start(join(build, 'hp-agent'), [
    '--server', server.url, '--state-dir', state, '--node', node, '--instance-id', instance, '--token-file', token, '--kmsg', log, ...more,
  ]);
  await until(`${node} enrolled`, () => child.text.includes('enrolled nodeId=') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(child.text);
  return { child, node, log, pid: child.pid };
}

/** Waits for the fault on that GPU to be the newest verdict of the node, which the server reads from its disk's state. */
async function stored(server, agent, gpu) {
  const url = `${server.url}/v1/clusters/bench/nodes/${agent.node}/verdicts?limit=1`;
  const headers = { authorization: `Bearer ${server.token}` };
  await until(`the fault of ${agent.node} on ${gpu}`, async () => (await (await fetch(url, { headers })).json()).items[0]?.device === gpu, 30000, 1);
}

let faultsWritten = 0;
/** Writes a line, and gives the milliseconds until it could be read from the server. */
async function fault(server, agent) {
  const at = faultsWritten++;
  const gpu = `${(at >> 8).toString(16).padStart(4, '0')}:${(at & 255).toString(16).padStart(2, '0')}:00`;
  const from = process.hrtime.bigint();
  appendFileSync(agent.log, `NVRM: Xid (PCI:${gpu}): 79, pid=1234, GPU has fallen off the bus.\n`);
  await stored(server, agent, gpu);
  return Number(process.hrtime.bigint() - from) / 1e6;
}

/** One fault after the other, now on this node, now on that; then one on every node at the same moment. */
export async function faults() {
  const shown = (list) => `p50 ${quantile(list, 0.5).toFixed(1)} ms, p99 ${quantile(list, 0.99).toFixed(1)} ms`;
  for (const count of [1, 50]) {
    const server = await hpd(100, `faults-${count}`);
    const agents = await Promise.all(Array.from({ length: count }, (_, i) => startAgent(server, i, '--checks', 'none')));
    const took = [];
    for (let i = 0; i < 200; i++) {
      took.push(await fault(server, agents[i % count]));
      await sleep(20 + (i * 7) % 60);
    }
    say(`fault line written to verdict stored, ${number(count)} agent${count > 1 ? 's' : ''}`, shown(took),
        `${number(took.length)} faults, most ${Math.max(...took).toFixed(1)} ms; 1 to 2 ms of it is our asking`);
    if (count > 1) {
      const bursts = [];
      for (let i = 0; i < rounds; i++) {
        await sleep(1000);
        bursts.push(Math.max(...(await Promise.all(agents.map((agent) => fault(server, agent))))));
      }
      say(`  on all ${number(count)} at the same moment, until the last is stored`, `${median(bursts).toFixed(0)} ms`);
    }
    for (const { child } of agents) await stop(child);
    await stop(server.child);
  }
}

// --- what it costs -----------------------------------------------------------------------------------------------

const beatsOf = async (server) => Number(/holdfast_heartbeats_total (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())[1]);

/** Agents with and without checks, and the exporter; that one and the agent with checks are asked as Prometheus would. */
export async function agent() {
  const span = Number(process.env.AGENT_SECONDS ?? 300); // the rarest check runs every five minutes
  const [firstChecks, scrapeEvery] = [35, 15];
  const server = await hpd(100, 'agent');
  const [here, there] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const bare = await startAgent(server, 0, '--checks', 'none');
  const full = await startAgent(server, 1, '--checks', 'all', '--metrics', here);
  const peer = start('prometheus-node-exporter', [`--web.listen-address=${there}`]);
  const scrape = (address) => fetch(`http://${address}/metrics`).then((r) => r.text());
  await until('both scraped', async () => (await answers(`http://${here}/metrics`)()) && answers(`http://${there}/metrics`)());
  const children = childMemory(full.pid);
  await sleep(firstChecks * 1000); // enrolled, the interval that the server asks for, and each check has run once
  const all = [bare, full, peer];
  const before = { cpu: all.map(({ pid }) => cpuMs(pid)), beats: await beatsOf(server) };
  for (let i = 0; i < span / scrapeEvery; i++) {
    await sleep(scrapeEvery * 1000);
    await Promise.all([here, there].map(scrape));
  }
  const share = (ms) => `${(ms / (span * 10)).toFixed(4)} % of a core`;
  const used = all.map(({ pid }, i) => cpuMs(pid) - before.cpu[i]);
  const beats = ((await beatsOf(server)) - before.beats) / 2;
  const peak = children.end();
  const results = [...(await scrape(here)).matchAll(/holdfast_check_result\{check="\w+",result="([\w-]+)"\}/g)].map(([, result]) => result);
  const busy = `${results.filter((result) => result !== 'not-applicable').length} of ${results.length} checks have something to look at here`;
  const memory = ({ pid }) => `${memoryMb(pid).toFixed(2)} MB (PSS ${proportionalMb(pid).toFixed(2)})`;
  const theirs = memory(peer);
  say('hp-agent without checks, memory', memory(bare), `prometheus-node-exporter ${theirs}`);
  say('hp-agent with all checks and --metrics, memory', memory(full),
      `prometheus-node-exporter ${theirs}; a check's process for its moment at most ${peak.rssMb.toFixed(2)} MB (PSS ${peak.pssMb.toFixed(2)}), of ${number(peak.seen)} that lived long enough to be seen`);
  say(`hp-agent without checks, processor, ${number(beats)} heartbeats in ${span} s`, share(used[0]),
      `prometheus-node-exporter, a scrape every ${scrapeEvery} s: ${share(used[2])}`);
  say('hp-agent with all checks and --metrics, their processes with it', share(used[1]), `a scrape every ${scrapeEvery} s, too; ${busy}`);
  for (const child of [bare.child, full.child, peer, server.child]) await stop(child);
}
