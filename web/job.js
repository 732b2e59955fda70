// One job: what a person may ask of it, what hit its nodes, its starts, and the last lines that it wrote, which are read when somebody asks.
import { ask, post, query, segment } from './api.js';
import { confirm } from './dialog.js';
import { facts, h, link, nodeLink, path, same, table, theirs } from './dom.js';
import { ago, duration, plural, when } from './format.js';
import { badge } from './looks.js';

const tone = { FAILED: 'bad', NODE_FAIL: 'bad', COMPLETED: 'good' };
const READ_MS = 60000; // then hpd has not read it
const AGAIN_MS = 300;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// hpd reads it at the scheduler meanwhile.
async function readLog(at, values) {
  for (const until = Date.now() + READ_MS; ;) {
    const log = await ask(`${at}/logs${query(values)}`);
    if (log.state === 'read') return log;
    if (Date.now() > until) throw new Error(`hpd did not read the log within ${READ_MS / 1000} s. The page of its scheduler says how it is.`);
    await pause(AGAIN_MS);
  }
}

async function showLog(ctx, event) {
  const { names: [cluster, id], memory } = ctx;
  const given = Object.fromEntries(new FormData(event.target));
  event.preventDefault();
  memory.log = { reading: true };
  ctx.draw();
  try {
    memory.log = await readLog(`clusters/${segment(cluster)}/jobs/${segment(id)}`, { rank: given.rank, lines: given.lines, previous: given.previous });
  } catch (refused) {
    memory.log = { error: refused.message };
  }
  ctx.draw();
}

function logText(log) {
  if (log.reading) return h('p', { class: 'quiet' }, 'Reading …');
  if (log.error) return h('p', { class: 'banner bad', role: 'alert' }, log.error);
  if (log.log === undefined) return h('p', {}, 'hpd does not read the output of Slurm jobs. The file is ', h('code', {}, log.path), log.node && ` on ${log.node}`, '.');
  return [h('p', { class: 'quiet' }, log.source && `${log.source}${log.node ? ` on ${log.node}` : ''}, read `, ago(log.readAt),
    log.cut && '. Earlier lines are left out: they are more than hpd reads at once.'),
  h('pre', { tabindex: '0', 'aria-label': 'The log' }, log.log || 'It has written nothing.')];
}

// What each command does: to a training job of Kubernetes, which has pods, and to a job of Slurm.
const COMMANDS = {
  restart: ['Restart', 'Its workers stop and begin anew. Its pods stay.', 'It is requeued: it leaves its nodes and begins anew.'],
  remake: ['Make pods anew', 'Its pods are deleted and made anew.'],
  suspend: ['Suspend', 'Its pods are deleted until it is resumed.', 'It is requeued and held: its nodes are free until it is resumed.'],
  resume: ['Resume', 'It runs again when its nodes are free.', 'It is released, and starts when its nodes are free.'],
  scale: ['Scale', 'It has so many replicas at most, or the next smaller size that it may have. Its workers checkpoint and begin anew.',
    'It is requeued and begins anew on so many nodes, with as many tasks on each as before.'],
};

const commandButtons = (ctx, j) => j.commands.map((command) => {
  const [label, pods, nodes] = COMMANDS[command];
  const size = command === 'scale' && h('label', {}, 'Size', h('input', { name: 'size', type: 'number', required: true, min: j.elastic?.minReplicas ?? 1, max: j.elastic?.maxReplicas ?? 4096 }));
  return h('button', { type: 'button', key: command, onclick: () => confirm({ title: `${label}: ${j.id}?`, body: h('p', {}, j.commands.includes('remake') ? pods : nodes),
    fields: [size].filter(Boolean), verb: label, danger: command !== 'resume', run: async (values) => {
      await post(`clusters/${segment(ctx.names[0])}/jobs/${segment(j.id)}/command`, { command, ...(size ? { size: Number(values.size) } : {}) });
      ctx.again();
      return 'Command stored. hpd carries it out within seconds.';
    } }) }, label);
});

const number = (label, name, value, max, min = 0) => h('label', {}, label, h('input', { name, type: 'number', min, max, value, oninput: theirs }));

const hasRanks = (j) => j.id.includes('/'); // a job of Kubernetes
const logView = (ctx, j) => h('section', { key: 'log' }, h('h2', {}, 'Log'),
  h('form', { class: 'row', 'aria-label': 'Which log', onsubmit: (event) => showLog(ctx, event) }, hasRanks(j) && number('Rank', 'rank', '0', 4095), number('Lines', 'lines', '200', 5000, 1),
    hasRanks(j) && h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'previous', value: 'true', onchange: theirs }), 'Previous container'),
    h('button', {}, 'Read the log')),
  ctx.memory.log && h('div', { key: 'read' }, logText(ctx.memory.log)));

export const job = {
  title: ({ names }) => `Job ${names[1]}`,
  wants: (ctx, e) => /^(jobs|operation|verdict)/.test(e.kind),
  load: ({ names: [cluster, id] }) => ask(`clusters/${segment(cluster)}/jobs/${segment(id)}`),
  render(ctx, j) {
    const { names: [cluster] } = ctx;
    return [h('p', { class: 'crumb', key: 'crumb' }, link(`#/jobs?cluster=${encodeURIComponent(cluster)}`, 'Jobs'), ` / ${j.id}`),
      h('div', { class: `headline ${tone[j.state] ?? 'work'}`, key: 'headline' }, h('h1', {}, `Job ${j.id}${j.name ? ` ${j.name}` : ''}`),
        h('p', { class: 'quiet' }, badge(j.state), ` · ${j.user ?? ''} · ${plural(j.nodeCount, 'node')} ${j.nodes ?? ''}`)),
      ctx.may('operator') && j.commands.length > 0 && h('div', { class: 'row actions', key: 'actions', role: 'group', 'aria-label': `Commands for ${j.id}` }, commandButtons(ctx, j)),
      facts([['Reason', j.reason], ['Partition', j.partition], ['GPUs', j.gpus ? `${j.gpus}` : ''], ['Submitted', when(j.submittedAt)],
        ['Began', when(j.startedAt)], ['Ends by', when(j.endsBy)], ['Ended', when(j.endedAt)], ['Restarts', `${j.restarts}`],
        ['Goodput', j.goodput?.share !== undefined && `${Math.round(j.goodput.share * 1000) / 10}%`],
        ['Lost', j.goodput && `${duration(1000 * j.goodput.lostNodeSeconds)} of node time`], ['Counted', j.goodput?.method]]),
      h('section', { key: 'faults' }, h('h2', {}, 'What hit its nodes'),
        table([['Node', (f) => nodeLink(cluster, f.node)], ['Code', (f) => f.code], ['Severity', (f) => badge(f.severity)], ['When', (f) => ago(f.lastAt)],
        ['Line', (f) => f.rawLine && h('code', {}, f.rawLine)]], j.faults, { key: (f) => `${f.id}`, nothing: 'No fault hit its nodes.' })),
      h('section', { key: 'repairs' }, h('h2', {}, 'Repairs of its nodes'),
        table([['Repair', (o) => link(path('operations', o.id), `${o.kind} ${o.node ?? ''}`)], ['State', (o) => badge(o.state)], ['Reason', (o) => o.reason],
        ['When', (o) => ago(o.createdAt)]], j.repairs, { key: (o) => o.id, nothing: 'None.' })),
      j.runs.length > 0 && h('section', { key: 'runs' }, h('h2', {}, 'Starts'),
        table([['Start', (r) => `${r.restart + 1}`], ['State', (r) => badge(r.state)], ['Nodes', (r) => r.nodes], ['Began', (r) => when(r.startedAt)],
        ['Ended', (r) => when(r.endedAt)], ['Why', (r) => r.why]], j.runs, { key: (r) => `${r.restart}` })),
      j.attempts.length > 0 && h('section', { key: 'attempts' }, h('h2', {}, 'Attempts'),
        table([['Attempt', (a) => `${a.restart}.${a.attempt}`], ['State', (a) => badge(a.state)], ['Nodes', (a) => a.nodes], ['Began', (a) => when(a.startedAt)],
        ['Ended', (a) => when(a.endedAt)], ['Reason', (a) => a.reason], ['Productive', (a) => duration(a.productiveMs)]], j.attempts)),
      ctx.may('operator') && logView(ctx, j),
      same(`hpctl job describe ${j.id} --cluster ${cluster}`, `GET /v1/clusters/${cluster}/jobs/${j.id}`)];
  },
};
