// One cluster: how it stands, what waits for a person, what goes on, the fleet map, its groups and its nodes.
import { ask, maybe, segment } from './api.js';
import { jobsOn, say } from './dialog.js';
import { h, link, nodeLink, nodePath, path, same, table } from './dom.js';
import { fleet } from './fleet.js';
import { ago, plural, since, told, when } from './format.js';
import { LOOKS, ORDER, badge, lookBadge, lookOf, worstFirst } from './looks.js';
import { FIRST_PLACE, nodesAt, placeOf, readHistory, timeAt } from './history.js';
import { BY, FleetMap } from './map.js';
import { stateBar } from './overview.js';
import { actionButton, causesOf, headlineView, itselfItems, pause, standingOf, waitingItems } from './standing.js';

const ROWS = matchMedia('(max-width: 40rem)').matches ? 12 : 50;
const POLICIES = 20; // groups whose budget is asked for
const POLICY_MS = 60000;
const JOBS_MS = 5000;

async function budgets(memory, cluster, groups) {
  if (memory.budgets && Date.now() - memory.budgetsAt < POLICY_MS) return memory.budgets;
  const read = await Promise.all(groups.slice(0, POLICIES).map(async ({ name }) => [name, await maybe(ask(`clusters/${segment(cluster)}/groups/${segment(name)}/policies`))]));
  const found = read.map(([name, { items }]) => {
    const settings = Object.fromEntries(items.flatMap((p) => p.settings).map((s) => [s.name, s.value]));
    return [name, { percent: settings['recovery.budgetPercent'], most: settings['recovery.budgetMax'] }];
  });
  Object.assign(memory, { budgets: Object.fromEntries(found), budgetsAt: Date.now() });
  return memory.budgets;
}

async function jobsOf(memory, cluster) {
  if (!memory.jobs || Date.now() - memory.jobsAt > JOBS_MS) Object.assign(memory, { jobs: await jobsOn(cluster), jobsAt: Date.now() });
  return memory.jobs;
}

// As policy/budget.c counts it: a share of the group, at least one, and never more than the number.
function budgetOf(group, settings) {
  if (settings?.percent === undefined) return undefined;
  const share = Math.max(1, Math.floor((group.instanceCount * settings.percent) / 100));
  return settings.most > 0 ? Math.min(share, settings.most) : share;
}

/* --- filters ------------------------------------------------------------------------------------------------ */

// The words of a node that the filter looks in, made once for each reading of it.
const words = new WeakMap();
function wordsOf(n) {
  if (!words.has(n)) words.set(n, `${n.name} ${n.reason ?? ''} ${n.instanceId ?? ''} ${n.rack ?? ''} ${n.switch ?? ''} ${n.zone ?? ''} ${n.ultraserver ?? ''} ${n.chassis ?? ''} ${n.powerDomain ?? ''}`.toLowerCase());
  return words.get(n);
}

function filtered(nodes, { q, look, group }) {
  const started = performance.now();
  const sought = (q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = look ? new Set(look.split(',')) : undefined;
  const found = nodes.filter((n) => (!group || n.group === group) && (!wanted || wanted.has(lookOf(n))) &&
    sought.every((w) => wordsOf(n).includes(w)));
  performance.measure('console-filter', { start: started });
  return found;
}

function toggled(look, one) {
  const now = new Set((look ?? '').split(',').filter(Boolean));
  if (!now.delete(one)) now.add(one);
  return [...now].join(',');
}

function toolbar(ctx, { nodes, view }) {
  const { query } = ctx;
  const counts = {};
  for (const n of nodes) counts[lookOf(n)] = (counts[lookOf(n)] ?? 0) + 1;
  const chosen = (query.look ?? '').split(',');
  const levels = Object.keys(BY).filter((by) => by === 'group' || by === 'state' || nodes.some((n) => n[by]));
  return h('div', { class: 'toolbar', key: 'toolbar' },
    h('label', {}, 'By', h('select', { onchange: (e) => ctx.set({ by: e.target.value === 'group' ? '' : e.target.value }) },
      levels.map((by) => h('option', { value: by, selected: by === (query.by ?? 'group') }, BY[by])))),
    view.instanceGroups.length > 1 && h('label', {}, 'Group',
      h('select', { onchange: (e) => ctx.set({ group: e.target.value }) }, h('option', { value: '' }, 'all'),
      view.instanceGroups.map((g) => h('option', { value: g.name, selected: g.name === query.group }, g.name)))),
    h('label', { class: 'grow' }, 'Filter',
      h('input', { type: 'search', value: query.q ?? '', placeholder: 'name, reason, rack, instance', oninput: (e) => ctx.set({ q: e.target.value }) })),
    h('div', { class: 'chips', role: 'group', 'aria-label': 'Show only' },
      ORDER.filter((look) => counts[look] || chosen.includes(look)).map((look) => h('button',
      { type: 'button', key: look, class: `chip ${LOOKS[look].tone}`, 'aria-pressed': chosen.includes(look) ? 'true' : 'false', title: LOOKS[look].says,
      onclick: () => ctx.set({ look: toggled(ctx.query.look, look) }) },
      h('span', { class: 'glyph', 'aria-hidden': 'true' }, LOOKS[look].glyph || '✓'), `${LOOKS[look].label} ${counts[look] ?? 0}`))));
}

/* --- the fleet as it was ------------------------------------------------------------------------------------ */

// The nodes of now, or of the time that the address names; these are made once for each time and reading.
function nodesShown(ctx, nodes) {
  const { memory, query } = ctx;
  if (!query.at) return nodes;
  if (!memory.history) {
    memory.readingHistory ??= readHistory(ctx.names[0]).then((history) => {
      Object.assign(memory, { history, readingHistory: undefined });
      ctx.draw();
    }, (error) => {
      memory.readingHistory = undefined;
      ctx.set({ at: '' });
      say(error.message);
    });
    return nodes;
  }
  if (memory.past?.at !== query.at || memory.past.nodes !== nodes) memory.past = { at: query.at, nodes, shown: nodesAt(nodes, memory.history, query.at) };
  return memory.past.shown;
}

function timeLine(ctx) {
  const { query, memory } = ctx;
  const known = !query.at || !memory.history || query.at >= memory.history.from;
  return h('div', { class: 'time-line', key: 'time' }, h('label', { class: 'grow' }, 'Time, up to three days back', h('input', { type: 'range', min: FIRST_PLACE, max: 0, value: placeOf(query.at),
    'aria-valuetext': query.at ? new Date(query.at).toLocaleString() : 'now', oninput: (e) => {
      if (!query.at) memory.history = undefined; // read anew each time that somebody looks back
      ctx.set({ at: timeAt(e.target.value) });
    } })),
  query.at ? h('p', { role: 'status' }, known ? '' : 'Not all of it is known: ', 'at ', when(query.at), ' ',
    h('button', { type: 'button', class: 'plain', onclick: () => ctx.set({ at: '' }) }, 'Back to now'))
    : h('p', { class: 'quiet' }, 'now'));
}

/* --- parts ----------------------------------------------------------------------------------------------------- */

const done = (steps) => steps.filter((s) => s.state === 'done' || s.state === 'skipped').length;
function stepOf(steps) {
  const at = steps.findIndex((s) => s.state === 'running');
  return at < 0 ? '' : `step ${at + 1} of ${steps.length}: ${steps[at].name}`;
}
const progressOf = (o) => o.progress ? `${o.progress.nodesInService} of ${plural(o.progress.nodesWanted, 'node')} in service${o.progress.nodesFailed ? `, ${o.progress.nodesFailed} failed` : ''}` : stepOf(o.steps);

const operations = (cluster, items) => h('ul', { class: 'going', key: 'operations' }, items.map((o) => h('li', { key: o.id },
  o.steps.length > 0 ? h('progress',
    { max: o.steps.length, value: done(o.steps), 'aria-label': `${o.kind} ${o.node ?? ''}: ${done(o.steps)} of ${o.steps.length} steps` }) : h('span', {}),
  h('div', {}, h('strong', {}, link(path('operations', o.id), o.kind), o.node && [' ', nodeLink(cluster, o.node)]), ' ',
    h('span', { class: 'quiet' }, progressOf(o), ' · for ', since(o.createdAt), ` · asked by ${o.actor}`)))));

function groupTable({ view, known, jobs, nodes }) {
  const idle = {};
  if (view.orchestrator !== 'none' && jobs && !jobs.unknown) for (const n of nodes) if (lookOf(n) === 'ok' && !jobs.on.has(n.name)) idle[n.group] = (idle[n.group] ?? 0) + 1;
  const held = (g) => [g.breaker.open && badge('breaker open', 'bad'), g.protection.on && badge('replacements stopped', 'bad'),
    g.capacity.short && badge('no capacity', 'warn'), g.failureMessage && h('span', {}, g.failureMessage)];
  const repairs = (g) => {
    const budget = budgetOf(g, known?.[g.name]);
    return `${g.nodesByState.repairing ?? 0}${budget === undefined ? '' : ` of ${budget}`}`;
  };
  return table([['Group', (g) => h('strong', {}, g.name)], ['State', (g) => badge(g.state)],
    ['In service', (g) => [`${g.nodesByState.ready ?? 0} of ${g.instanceCount}`, stateBar(g.nodesByState, g.instanceCount)]],
    ['Repairs, budget', repairs], ...(view.orchestrator === 'none' ? [] : [['Idle', (g) => (jobs && !jobs.unknown ? `${idle[g.name] ?? 0}` : 'not known')]]),
      ...(view.instanceGroups.some((g) => g.spares) ? [['Spares', (g) => g.spares && `${g.spares.ready} ready of ${g.spares.total}`]] : []),
      ['Holds its repairs', held]],
  view.instanceGroups, { key: (g) => g.name, nothing: 'The cluster has no groups. Add one to its file and run hpctl apply.' });
}

const nodeTable = (ctx, cluster, found) => {
  const shown = ctx.memory.rows ?? ROWS;
  return [table([['Node', (n) => nodeLink(cluster, n.name), 'nowrap'], ['Stands', lookBadge, 'nowrap'],
    ['Reason', (n) => [n.optedOut && badge('opted out', 'plain'), n.optedOut && ' ', told(n.reason)]], ['Group', (n) => n.group],
    ['For', (n) => since(n.stateSince), 'nowrap'], ['Next look', (n) => n.retryAt && ago(n.retryAt), 'nowrap']],
    found.slice(0, shown), { key: (n) => n.name, nothing: 'No node matches. Clear the filter to see all.' }),
  found.length > shown && h('button', { type: 'button', key: 'more', onclick: () => {
    ctx.memory.rows = shown + 200;
    ctx.draw();
  } }, `Show more (${shown} of ${found.length})`)];
};

export const cluster = {
  local: true,
  title: ({ names }) => names[0],
  wants: (ctx, event) => !event.cluster || event.cluster === ctx.names[0],
  async load(ctx, part) {
    const [name] = ctx.names;
    const nodes = fleet(name);
    const standing = await standingOf(name);
    const again = await nodes.fresh(() => part({ ...standing, nodes: nodes.list(), reading: true }));
    if (again) setTimeout(ctx.again, again);
    const all = nodes.list();
    const [causes, known, jobs] = await Promise.all([causesOf(name, all, standing.approvals, standing.incidents),
      budgets(ctx.memory, name, standing.view.instanceGroups), jobsOf(ctx.memory, name)]);
    return { ...standing, nodes: all, causes, known, jobs };
  },
  render(ctx, data) {
    const { view, nodes, causes } = data;
    const cluster = view.name;
    const waiting = waitingItems(ctx, data, causes);
    const itself = itselfItems(cluster, causes);
    const shown = nodesShown(ctx, nodes);
    const found = worstFirst(filtered(shown, ctx.query));
    ctx.memory.found = found;
    return [
      h('div', { class: 'page-head', key: 'head' }, h('p', { class: 'crumb' }, link('#/', 'Clusters'), ` / ${cluster}`),
        h('div', { class: 'row' }, link(`#/jobs?cluster=${encodeURIComponent(cluster)}`, 'Jobs'),
        ctx.may('operator') && link(path('clusters', cluster, 'change'), 'Change'),
        ctx.may('operator') && !view.pause && actionButton('Pause', () => pause(ctx, cluster)))),
      headlineView(data),
      h('section', { key: 'waiting', id: 'waiting' }, h('h2', {}, 'Waiting for you', waiting.length > 0 && h('span', { class: 'count' }, `${waiting.length}`)),
        waiting.length > 0 ? h('ul', { class: 'items' }, waiting) : h('p', { class: 'quiet' }, data.reading ? 'Reading …' : 'Nothing needs a person now.')),
      (view.activeOperations.length > 0 || itself.length > 0) && h('section', { key: 'going' }, h('h2', {}, 'Going on by itself'),
        operations(cluster, view.activeOperations), itself.length > 0 && h('ul', { class: 'items' }, itself)),
      h('section', { key: 'fleet' }, h('h2', {}, 'Fleet'), toolbar(ctx, { nodes: shown, view }), timeLine(ctx), h('div', { 'data-own': '', key: 'map', id: 'map' }),
        nodes.length === 0 && h('p', { class: 'empty' }, data.reading ? 'Reading the nodes …' : 'The cluster has no nodes yet.')),
      h('section', { key: 'groups' }, h('h2', {}, 'Groups'), groupTable(data)),
      h('section', { key: 'nodes' }, h('h2', {},
        found.length === nodes.length ? plural(nodes.length, 'node') : `${found.length} of ${plural(nodes.length, 'node')}`), nodeTable(ctx, cluster, found)),
      same(`hpctl cluster describe ${cluster}`, `GET /v1/clusters/${cluster}`),
    ];
  },
  mount(ctx, main) {
    const [cluster] = ctx.names;
    const place = main.querySelector('#map');
    ctx.memory.map ??= new FleetMap((node) => (location.hash = nodePath(cluster, node.name)));
    if (ctx.memory.map.root.parentNode !== place) place.replaceChildren(ctx.memory.map.root);
    ctx.memory.map.show(ctx.memory.found, BY[ctx.query.by] ? ctx.query.by : 'group');
  },
  themed(ctx) {
    ctx.memory.map?.themed();
  },
};
