// Bursts of critical verdicts on a machine that is late at random moments: 20,000 verdicts of 10,000 nodes reach hpd's own store and loop, in every second run before
// the loop's first turn, as make bench has it, and in the others while it turns. Each of these nodes is decided on, or the run says within 300 s what it waits for.
//
//     make campaign BURSTS=1000 SEED=7
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '../lib/programs.mjs';

const BURSTS = Number(process.env.BURSTS || 4);
const SEED = Number(process.env.SEED || 1);
const AT_A_TIME = 2;
const LIBRARY = new URL('../lib/delays.c', import.meta.url).pathname;
const [VERDICTS, NODES] = [20000, 10000];

let dir, library, why = false;
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-bursts.'));
  library = join(dir, 'delays.so');
  const made = spawnSync('cc', ['-D_GNU_SOURCE', '-shared', '-fPIC', '-O2', '-o', library, LIBRARY, '-ldl'], { encoding: 'utf8' });
  if (made.status !== 0) why = `needs a C compiler: ${made.error?.message ?? made.stderr}`;
  const seeded = spawnSync(join(root, 'build/bench/seed'), [join(dir, 'fleet'), String(NODES), join(dir, 'nodes'), String(NODES), 'none'], { encoding: 'utf8' });
  assert.equal(seeded.status, 0, `make bench-build first: ${seeded.error?.message ?? seeded.stderr}`);
});
after(() => rmSync(dir, { recursive: true, force: true }));

// One run, with its seconds and what it said.
async function burst(number) {
  const state = join(dir, `run-${number}`);
  cpSync(join(dir, 'fleet'), state, { recursive: true });
  const [what, ...more] = number % 2 === 0 ? ['burst', '0'] : ['storm'];
  const child = spawn(join(root, 'build/bench/decide'), [what, state, join(dir, 'nodes'), String(VERDICTS), String(NODES), '1', ...more], {
    env: { ...process.env, LD_PRELOAD: library, DELAYS_SEED: String(SEED * 1_000_000 + number) },
  });
  const text = { out: '', err: '' };
  child.stdout.on('data', (d) => { text.out += d; });
  child.stderr.on('data', (d) => { text.err += d; });
  const code = await new Promise((done) => { child.on('close', done); });
  assert.equal(code, 0, `run ${number} (${what}, seed ${SEED}): exit ${code}\n${text.err}`);
  rmSync(state, { recursive: true }); // one that failed stays until the test ends
  return { what, ...JSON.parse(text.out) };
}

test(`${BURSTS} bursts, seed ${SEED}`, { timeout: 6 * 3600_000 }, async (t) => {
  if (why) return t.skip(why);
  const began = Date.now(), took = { burst: [], storm: [] };
  let begun = 0;
  const work = async () => {
    while (begun < BURSTS) {
      const { what, seconds } = await burst(begun++);
      took[what].push(seconds);
      const done = took.burst.length + took.storm.length;
      if (done % 100 === 0) console.error(`campaign: ${done} bursts in ${Math.round((Date.now() - began) / 1000)} s`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  const said = Object.entries(took).map(([what, list]) => `${list.length} of "${what}" in ${Math.min(...list)} to ${Math.max(...list)} s`);
  t.diagnostic(`${BURSTS} bursts of ${VERDICTS} verdicts of ${NODES} nodes, seed ${SEED}, 0 without end: ${said.join(', ')}`);
});
