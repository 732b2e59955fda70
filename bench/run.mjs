// Prints every performance figure of the README, as ratios in one run where a peer exists.
//
//   make bench                          all of it, about thirteen minutes
//   make bench ONLY="heartbeats agent"  some; ROUNDS=5 SECONDS_EACH=10 for steadier ones; MARKDOWN=file for a table
//
// Server, load generator and peers share the machine's cores, so absolute rates are the machine's; ratios carry over. Each
// comparison runs its contestants in turn, three rounds, and takes medians; a ratio is the median of the rounds'
// ratios, so that a machine that gets busy in between does not favour one side.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agent, faults, kmsg } from './agent.mjs';
import { joblog, launcher } from './launcher.mjs';
import { slurm } from './slurm.mjs';
import {
  bare, build, cleanUp, dir, etcd, hpd, load, loadBeside, median, memoryMb, nginx, number, rounds, say, seconds, seeded, stop, table,
} from './lib.mjs';

const only = (process.env.ONLY ?? '').split(' ').filter(Boolean);
const readers = 4; // clients that ask one thing after another
const readRate = 200; // requests a second at which a read's latency is measured: a server at its limit measures its queue
const pick = (list, field) => median(list.map((one) => one[field]));
const ratio = (ours, theirs) => median(ours.map((one, i) => one.perSecond / theirs[i].perSecond)).toFixed(2);
const perSecond = (list) => `${number(pick(list, 'perSecond'))}/s`;
const cost = (list) => `${pick(list, 'serverUs').toFixed(1)} us of a core each, p99 ${pick(list, 'p99Ms').toFixed(1)} ms`;

/** Heartbeats of agents that keep their connections; the same requests go to the peers. */
async function heartbeats() {
  const contestants = [await hpd(10000), await bare(), await nginx()];
  for (const connections of [64, 1000]) {
    const got = [[], [], []];
    for (let i = 0; i < rounds; i++)
      contestants.forEach((one, at) =>
        got[at].push(load({ mode: 'heartbeat', port: one.port, pid: one.child.pid, nodes: contestants[0].nodes, connections })),
      );
    say(`heartbeats accepted, ${connections} agents`, perSecond(got[0]), cost(got[0]));
    say('  a bare libmicrohttpd reply to the same requests', perSecond(got[1]), `ratio ${ratio(got[0], got[1])}; ${cost(got[1])}`);
    say('  nginx "return 200"', perSecond(got[2]), `ratio ${ratio(got[0], got[2])}`);
  }
  for (const one of contestants) await stop(one.child);
}

/** New verdicts of a program's faults from all over the fleet; each is answered when it is on disk. */
async function verdicts() {
  const [server, kv] = [await hpd(10000, 'verdicts'), await etcd()];
  load({ mode: 'heartbeat', port: server.port, nodes: server.nodes, walk: true, connections: 64, seconds: 1 }); // all are there
  for (const connections of [64, 1000]) {
    const [ours, theirs] = [[], []];
    for (let i = 0; i < rounds; i++) {
      ours.push(load({ mode: 'verdict', port: server.port, pid: server.child.pid, nodes: server.nodes, walk: true, connections }));
      theirs.push(load({ mode: 'etcd', port: kv.port, pid: kv.child.pid, connections }));
    }
    say(`verdicts stored durably, 1 KB, ${connections} connections`, perSecond(ours), cost(ours));
    say('  etcd puts of 1 KB over HTTP', perSecond(theirs), `ratio ${ratio(ours, theirs)}; ${cost(theirs)}`);
  }
  await Promise.all([stop(server.child), stop(kv.child)]);
}

/** The latency histogram as hpd counts it: upper bounds of the buckets in which the percentiles lie. */
async function decisionLatency(server) {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const bucket = /holdfast_verdict_to_decision_seconds_bucket\{le="([^"]+)"\} (\d+)/g;
  const buckets = [...text.matchAll(bucket)].map((m) => [Number(m[1].replace('+Inf', 'Infinity')), Number(m[2])]);
  const total = buckets.at(-1)[1];
  if (total === 0) throw new Error('no decision was made');
  const below = (p) => `${(buckets.find(([, n]) => n >= total * p)[0] * 1000).toPrecision(2)} ms`;
  return { total, text: `p50 < ${below(0.5)}, p99 < ${below(0.99)}` };
}

/** A fleet that beats every ten seconds while critical verdicts come in from nodes all over it. */
async function decisions() {
  for (const nodes of [100, 10000, 100000]) {
    const server = await hpd(nodes);
    const fleet = { port: server.port, nodes: server.nodes, walk: true, connections: 64 };
    // An agent that spoke on two connections at once would overtake itself: a small fleet has one for each.
    const agents = { ...fleet, mode: 'heartbeat', ...(nodes < 1000 && { walk: false, connections: nodes }) };
    load({ ...agents, seconds: Math.max(1, nodes / 25000) });
    const memory = memoryMb(server.child.pid);
    const [beats, rate] = [nodes / 10, Math.min(200, nodes / 4)];
    await Promise.all([
      loadBeside({ ...agents, rate: beats, seconds: 2 * seconds + 1 }),
      sleep(500).then(() => loadBeside({ ...fleet, mode: 'verdict', xid: 79, rate, seconds: 2 * seconds })),
    ]);
    const latency = await decisionLatency(server);
    say(`verdict received to decision on disk, ${number(nodes)} nodes`, latency.text,
        `${number(latency.total)} at ${rate}/s beside ${number(beats)} heartbeats/s`);
    say(`  hpd's memory, all nodes heard, 64 connections`, `${memory.toFixed(0)} MB`, `${memoryMb(server.child.pid).toFixed(0)} MB after it`);
    await stop(server.child);
  }
}

/** What a decision costs by itself, and a burst of them at once in fleets of several sizes: where what is decided is the same, the time must be. */
async function decide() {
  const run = (...words) => {
    const done = spawnSync(join(build, 'bench/decide'), words.map(String), { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(done.stderr);
    return JSON.parse(done.stdout);
  };
  const onSeeded = ({ state: from, file }, what, ...words) => {
    const state = join(dir, 'burst');
    cpSync(from, state, { recursive: true });
    const got = run(what, state, file, ...words);
    rmSync(state, { recursive: true });
    return got;
  };
  const onFleet = (what, fleet, ...words) => onSeeded(seeded(fleet, `fleet-${fleet}`), what, ...words);
  const burst = (fleet, verdicts, nodes, stride, writes = 0) => onFleet('burst', fleet, verdicts, nodes, stride, writes);
  const each = (fn) => Array.from({ length: rounds }, fn);
  const pure = each(() => run('policy'));
  say('decisions of the policy by itself, one core', perSecond(pure), 'of a group of 1,000 with 128 nodes in trouble, each with a past');
  for (const [fleet, verdicts, nodes, stride] of [
    [100000, 20000, 20000, 5], [100000, 20000, 10000, 1], [10000, 20000, 10000, 1], [100000, 1000, 1000, 1], [10000, 1000, 1000, 1], [1000, 1000, 1000, 1],
  ]) {
    const got = each(() => burst(fleet, verdicts, nodes, stride));
    say(`a burst of ${number(verdicts)} verdicts of ${number(nodes)} nodes decided, ${number(fleet)} nodes`, `${pick(got, 'seconds').toFixed(3)} s`,
        `p50 ${pick(got, 'p50Seconds').toFixed(2)} s; ${pick(got, 'cpuSeconds').toFixed(2)} s of a core; stored before it in ${pick(got, 'storedSeconds').toFixed(2)} s`);
  }
  const drained = each(() => onSeeded(seeded(10000, 'slurm-10000', 10000, 'slurm'), 'drain', 200));
  say('critical verdict received to the call that drains its node, 10,000 nodes', `p50 ${(pick(drained, 'p50Us') / 1000).toFixed(1)} ms`,
      `p99 ${(pick(drained, 'p99Us') / 1000).toFixed(1)} ms; one after another, a scheduler that answers at once`);
  for (const [beside, asked] of [['50 writes/s by people beside them', 50], ['nobody writing', 0]]) {
    const got = each(() => burst(100000, 20000, 20000, 5, asked));
    say(`a burst of 20,000 verdicts of 20,000 nodes decided, 100,000 nodes, ${beside}`, `${pick(got, 'seconds').toFixed(3)} s`,
        `p50 ${pick(got, 'p50Seconds').toFixed(2)} s; ${number(pick(got, 'writesPerSecond'))} writes/s were taken; longest turn ${(pick(got, 'longestTurnSeconds') * 1000).toFixed(0)} ms`);
  }
  for (const fleet of [20000, 100000]) {
    const got = each(() => onFleet('writes', fleet, 400));
    for (const [what, name] of [['node', 'a node (opt out, opt in)'], ['cluster', 'the cluster (pause, resume)']])
      say(`loop time of a person's write about ${name}, ${number(fleet)} nodes`, `${number(median(got.map((one) => one[what].p50Us)))} us`,
          `p99 ${number(median(got.map((one) => one[what].p99Us)))} us; ${median(got.map((one) => one[what].turns)).toFixed(0)} turns`);
  }
  const managed = each(() => onSeeded(seeded(100000, 'slurm-100000', 100000, 'slurm'), 'managed', 200));
  say('20 writes/s about nodes of a Slurm whose configuration hpd writes, 100,000 nodes: the longest turns', `${(pick(managed, 'mostUs') / 1000).toFixed(0)} ms`,
      `${pick(managed, 'cpuSeconds').toFixed(2)} s of a core for 200 writes within 10 s`);
  const simulated = each(() => run('simulate', 100000));
  say('simulated node-days, one core', perSecond(simulated), `100,000 nodes over 54 days in ${pick(simulated, 'seconds').toFixed(2)} s and ${pick(simulated, 'memoryMb').toFixed(0)} MB`);
}

/** Descriptions and pages through both APIs, out of 10,000 nodes, while a fleet of 100,000 sends its heartbeats. */
async function reads() {
  const [nodes, beats] = [100000, 10000];
  const server = await hpd(nodes, 'reads', 10000);
  const made = await fetch(`${server.url}/v1/access-keys`, {
    method: 'POST', headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }, body: '{"name":"bench","role":"viewer"}',
  });
  const { accessKeyId, secretAccessKey } = await made.json();
  const rest = (path) => ({ mode: 'get', path, token: server.token });
  const aws = (operation, input) => ({ mode: 'aws', target: `SageMaker.${operation}`, input: JSON.stringify(input), key: accessKeyId, secret: secretAccessKey });
  const asked = [
    ['DescribeCluster', rest('/v1/clusters/bench'), aws('DescribeCluster', { ClusterName: 'bench' })],
    ['ListClusterNodes, a page of 100', rest('/v1/clusters/bench/nodes?limit=100'), aws('ListClusterNodes', { ClusterName: 'bench', MaxResults: 100 })],
  ];
  const fleet = { mode: 'heartbeat', port: server.port, nodes: server.nodes, walk: true, connections: 64 };
  load({ ...fleet, seconds: 4 });
  const beating = loadBeside({ ...fleet, rate: beats, seconds: asked.length * 2 * (2 + 4 * rounds * (seconds + 0.3)) });
  const quantiles = (list) => `p50 ${pick(list, 'p50Ms').toFixed(2)} ms, p99 ${pick(list, 'p99Ms').toFixed(2)} ms`;
  for (const [what, ...APIs] of asked)
    for (const [at, request] of APIs.entries()) {
      const ours = { ...request, port: server.port, connections: readers };
      const { bodyBytes } = load({ ...ours, seconds: 1 });
      const peer = await bare(bodyBytes);
      const [fast, steady] = [[[], []], [[], []]];
      for (let i = 0; i < rounds; i++)
        for (const [side, port] of [server.port, peer.port].entries()) {
          fast[side].push(load({ ...ours, port }));
          steady[side].push(load({ ...ours, port, rate: readRate }));
        }
      await stop(peer.child);
      const p99 = (pick(steady[0], 'p99Ms') / pick(steady[1], 'p99Ms')).toFixed(1);
      say(`${what}, ${['REST with a token', 'AWS with a signature'][at]}`, perSecond(fast[0]), `at ${readRate}/s ${quantiles(steady[0])}`);
      say(`  a bare libmicrohttpd reply of ${number(bodyBytes)} bytes`, perSecond(fast[1]),
          `at ${readRate}/s ${quantiles(steady[1])}; ours to it: rate ${ratio(fast[0], fast[1])}, p99 ${p99}`);
    }
  const fleets = await beating;
  say('  heartbeats beside all of these', `${number(fleets.perSecond)}/s`, `p99 ${fleets.p99Ms.toFixed(1)} ms`);
  await stop(server.child);
}

/** One verification, in a process of its own that does nothing else. */
async function signatures() {
  const run = spawnSync(join(build, 'bench/sigv4'), ['tests/data/aws/sigv4.json'], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr);
  const us = JSON.parse(run.stdout);
  const shown = (name) => `${us[name].toFixed(1)} us`;
  say('a signature verified, as the SDK signs it', shown('nine headers'), `the first of a key's on a day ${shown('nine headers, first')}; with a body of 6.6 kB ${shown('a large body')}`);
  say('  the key\'s secret unsealed before it', `${us.unseal.toFixed(2)} us`);
}

/** What one more agent's connection costs. */
async function connections() {
  const count = 4000;
  const server = await hpd(10000);
  load({ mode: 'heartbeat', port: server.port, nodes: server.nodes, connections: 16, seconds: 1, walk: true });
  const before = memoryMb(server.child.pid);
  const beating = loadBeside({ mode: 'heartbeat', port: server.port, nodes: server.nodes, connections: count, rate: count, seconds: 4 });
  await sleep(3500);
  const each = ((memoryMb(server.child.pid) - before) * 1024) / count;
  await beating;
  say('hpd\'s memory for each connected agent', `${each.toFixed(1)} kB`, `${number((each * 100000) / 1024)} MB for 100,000, beside the state`);
  await stop(server.child);
}

const timed = (command, args, env) => {
  const from = process.hrtime.bigint();
  const run = spawnSync(command, args, { env: { PATH: process.env.PATH, ...env } });
  if (run.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${run.stderr}`);
  return Number(process.hrtime.bigint() - from) / 1e6;
};

async function hpctl() {
  const server = await hpd(100, 'hpctl');
  const env = { HPCTL_URL: server.url, HPCTL_TOKEN: server.token };
  const times = { nothing: [], version: [], list: [] };
  for (let i = 0; i < 40; i++) {
    times.nothing.push(timed('/bin/true', []));
    times.version.push(timed(join(build, 'hpctl'), ['--version']));
    times.list.push(timed(join(build, 'hpctl'), ['cluster', 'list'], env));
  }
  const ms = (list) => `${median(list).toFixed(1)} ms`;
  say('hpctl --version, from start to end', ms(times.version), `/bin/true ${ms(times.nothing)}`);
  say('hpctl cluster list, from start to end', ms(times.list));
  await stop(server.child);
}

const sections = { heartbeats, verdicts, decisions, decide, reads, signatures, connections, kmsg, faults, agent, slurm, hpctl, joblog, launcher };
for (const name of only) if (!(name in sections)) throw new Error(`no such section: ${name}; there are ${Object.keys(sections).join(', ')}`);
console.log(`${cpus().length} cores, ${cpus()[0].model}; medians of ${rounds} rounds of ${seconds} s\n`);
let failed = false;
try {
  for (const [name, run] of Object.entries(sections)) if (only.length === 0 || only.includes(name)) await run();
  if (process.env.MARKDOWN) writeFileSync(process.env.MARKDOWN, table());
} catch (error) {
  failed = true;
  console.error(error);
} finally {
  await cleanUp();
}
process.exit(failed ? 1 : 0);
