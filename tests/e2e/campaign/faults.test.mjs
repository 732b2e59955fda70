// The campaign: GPUs break one after the other under one job, always on a node that its batch script is not on. Whatever Slurm lets be done
// about each (another node in the running job, or a requeue of it), the job lives to its end, no job that waited for a node is left, and
// each fault is one repair. Where Slurm has a slurmdbd, and from 23.11 on, no fault costs a requeue.
//
//     make campaign FAULTS=20
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { FELL_OFF, World, until } from '../lib/world.mjs';
import { Steps } from '../slurm/steps.mjs';

const FAULTS = Number(process.env.FAULTS || 3);
const SLOW = 300_000;
// make check has the other one with two faults (slurm/autoresume_refused).
const ACCOUNTING = process.env.FAULTS ? [true, false] : [true];
process.env.LAB_PROLOG_FLAGS = '';

for (const accounting of ACCOUNTING) {
  describe(`${FAULTS} faults in a row in one job, ${accounting ? 'with' : 'without'} slurmdbd`, () => {
    const recovery = { breakerMin: 1000, rebootsMax: 100, replacesMax: 100, budgetPercent: 100 };
    const world = new World({ lab: ['--no-slurmd', ...(accounting ? ['--accounting'] : [])], recovery });
    world.wayConfig = () => ({ jobSnapshotInterval: '1s' });
    const steps = new Steps(world);
    after(() => world.end());

    const attempts = (job) => world.json('job', 'describe', job).attempts;
    const repairs = () => world.json('node', 'list').flatMap(({ name }) => world.operations(name)).filter((o) => ['reboot', 'replace'].includes(o.kind) && o.actor === 'policy');

    test('the job lives to its end, and each fault is one repair', { timeout: 3600_000 }, async (t) => {
      await world.start();
      world.allowAutoResume();
      const version = /SLURM_VERSION\s*= (\d+)\.(\d+)/.exec(world.slurmRun('scontrol', 'show', 'config'));
      const enough = steps.file('row.enough');
      const job = steps.submit('row', { steps: 1e9, mode: `1,attempts:100,progress:${steps.file('row.checkpoint')}`, each: `[ ! -e ${enough} ] || break` });
      await steps.trains('row');
      let requeues = 0;
      const broken = [];
      for (let i = 0; i < FAULTS; i++) {
        const before = await until('hpd knows of the step that runs', () => {
          const all = attempts(job);
          return all.at(-1)?.state === 'running' && all;
        }, SLOW);
        const at = Number(steps.read('row.checkpoint'));
        await until('it goes on', () => Number(steps.read('row.checkpoint')) > at + 2, SLOW);
        const lost = steps.other(job);
        broken.push(lost);
        world.kernel(lost, FELL_OFF);
        const now = await until(`fault ${i + 1} of ${lost} is survived`, () => {
          const all = attempts(job), last = all.at(-1);
          return all.length > before.length && last.state === 'running' && all;
        }, SLOW).catch((error) => {
          throw new Error(`${error.message}\n${steps.read('row.out').slice(-3000)}\n${world.slurmRun('squeue', '-a', '-o', '%i %j %T %N %r')}`);
        });
        requeues += now.at(-1).restart - before.at(-1).restart;
        await until('four nodes are in service', () => world.json('node', 'list').every(({ state }) => state === 'ready'), SLOW);
      }
      writeFileSync(enough, '');
      const text = await steps.over(job, 'row');
      t.diagnostic(`Slurm ${version[1]}.${version[2]}, ${accounting ? 'with' : 'without'} slurmdbd: ${FAULTS} faults on ${new Set(broken).size} nodes, ${FAULTS - requeues} answered in the running job, ${requeues} by a requeue; ${repairs().length} repairs`);
      assert.match(text, /trained\nsrun ended 0\n$/);
      assert.equal(world.slurmRun('squeue', '-h', '-a', '-t', 'all', '-j', job, '-o', '%T'), 'COMPLETED');
      await steps.noHelper();
      const done = repairs();
      assert.deepEqual([done.length, done.filter((o) => o.state !== 'succeeded').length], [FAULTS, 0], JSON.stringify(done.map((o) => [o.node, o.kind, o.state, o.code])));
      if (accounting || Number(version[1]) >= 24) assert.equal(requeues, 0, text);
      for (const [line] of text.matchAll(/^.*: the job is requeued$/gm)) assert.match(line, /Job failed: /, 'one line says why');
    });
  });
}
