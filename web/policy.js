// The policy: what is in force, its history with differences, and what another document would have decided.
import { ask, maybe, post, segment } from './api.js';
import { confirm } from './dialog.js';
import { diffView } from './diff.js';
import { h, link, nodeLink, path, same, table, theirs } from './dom.js';
import { clusterNames } from './fleet.js';
import { ago, plural, when } from './format.js';
import { badge } from './looks.js';

const DAYS = { '1 day': 1, '7 days': 7, '30 days': 30, '90 days': 90 };
const SHOWN = 200;
const EXAMPLE = 'version: 1\nclasses:\n  gpu: {mode: approve}\n';

/* --- what if ---------------------------------------------------------------------------------------------------- */

// In parts of a hundred nodes, as far as hpd says that there are more.
async function replay(cluster, document, days, sum, heard) {
  const since = new Date(Date.now() - days * 86400000).toISOString();
  for (let after; ;) {
    const part = await post(`clusters/${segment(cluster)}/policies/diff`, { document, since, ...(after ? { after } : {}) });
    for (const name of ['nodes', 'decisions', 'same', 'different', 'unknown']) sum[name] += part[name];
    sum.items.push(...part.items.map((i) => ({ ...i, cluster })));
    heard();
    if (!part.next) return;
    after = part.next;
  }
}

async function tryOut(ctx, data, form) {
  const { memory } = ctx;
  const { document, cluster, days } = Object.fromEntries(new FormData(form));
  Object.assign(memory, { problem: undefined, trial: undefined, trying: true, valid: undefined });
  ctx.draw();
  try {
    memory.valid = await post('policy/validate', { document });
    const sum = { items: [], nodes: 0, decisions: 0, same: 0, different: 0, unknown: 0 };
    for (const one of cluster ? [cluster] : data.clusters) await replay(one, document, Number(days), sum, () => {
      memory.trial = sum;
      ctx.draw();
    });
  } catch (error) {
    memory.problem = error.message;
  }
  memory.trying = false;
  ctx.draw();
}

const saidText = (said) => `${said.action}${said.rule ? ` (${said.rule})` : ''}`;
function trialView({ memory }) {
  if (memory.problem) return h('p', { class: 'banner bad', role: 'status', key: 'problem' }, memory.problem);
  const { trial: t, valid } = memory;
  return [(valid?.warnings ?? []).map((w) => h('p', { class: 'banner warn', key: w }, w)), memory.trying && h('p', { class: 'quiet', key: 'trying' }, 'Replaying …'),
    t && [h('p', { key: 'sum', role: 'status' }, h('strong', {}, `${plural(t.different, 'decision')} of ${t.decisions} would have been different`),
      ` on ${plural(t.nodes, 'node')}. ${t.same} the same.`, t.unknown > 0 && ` ${t.unknown} cannot be replayed.`,
      ' Each decision is replayed for itself; what would have followed is not known.'),
      table([['When', (i) => when(i.at), 'nowrap'], ['Node', (i) => nodeLink(i.cluster, i.node), 'nowrap'],
        ['Fault', (i) => `${i.code ?? ''} ${i.device ?? ''}`], ['Was', (i) => saidText(i.then)], ['Would be', (i) => h('strong', {}, saidText(i.other))],
        ['Because', (i) => i.other.sentence]], t.items.slice(0, SHOWN), { key: (i) => `${i.node}-${i.at}` })]];
}

function apply(ctx, data, form) {
  const { document } = Object.fromEntries(new FormData(form));
  confirm({ title: 'Put this policy in force?', verb: 'Apply', danger: true,
    body: [h('p', {}, 'It counts at once, for all clusters. Running operations go on to their end. Jobs are hit only by repairs that it allows.'),
    diffView(data.now.document ?? '', document)],
    fields: [h('label', {}, 'Comment', h('input', { name: 'comment', maxlength: 191, autocomplete: 'off' }))],
    run: async ({ comment }) => {
      const made = await ask('policy', { method: 'PUT', body: { document, expectedVersion: data.now.version, ...(comment ? { comment } : {}) } });
      ctx.again();
      return `Version ${made.version} of the policy is in force.`;
    } });
}

const whatIf = (ctx, data) => h('section', { key: 'whatif' }, h('h2', {}, 'What if'),
  h('p', { class: 'quiet' }, 'Edit the document and replay the recorded decisions under it. Nothing is changed.'),
  h('form', { onsubmit: (event) => {
    event.preventDefault();
    tryOut(ctx, data, event.target);
  } }, h('label', {}, 'Policy document', h('textarea', { name: 'document', rows: 12, spellcheck: 'false', maxlength: 32767, oninput: theirs }, data.now.document || EXAMPLE)),
  h('div', { class: 'toolbar below' },
    data.clusters.length > 1 && h('label', {}, 'Cluster',
    h('select', { name: 'cluster' }, h('option', { value: '' }, 'all'), data.clusters.map((c) => h('option', { value: c }, c)))),
    h('label', {}, 'Decisions of the last', h('select', { name: 'days' }, Object.entries(DAYS).map(([label, days]) => h('option', { value: days, selected: days === 7 }, label)))),
    h('button', { class: 'primary' }, 'Replay'), ctx.may('admin') && h('button', { type: 'button', onclick: (event) => apply(ctx, data, event.target.form) }, 'Apply …'))),
  trialView(ctx));

/* --- the page ----------------------------------------------------------------------------------------------------- */

const versionTable = (versions) => table([['Version', (v) => link(path('policy', 'versions', `${v.version}`), `${v.version}`)], ['By', (v) => v.author],
  ['When', (v) => ago(v.createdAt)], ['Comment', (v) => [v.comment, v.restores && ` restores version ${v.restores}`]]], versions,
  { key: (v) => `${v.version}`,
  nothing: 'No policy document yet: the built-in settings apply. Apply one under What if, or with hpctl policy apply -f docs/examples/policy.yaml' });

function settingsView(ctx, data) {
  const sought = (ctx.query.q ?? '').toLowerCase();
  const all = data.settings.items.flatMap((p) => p.settings).filter((s) => `${s.name} ${s.description}`.toLowerCase().includes(sought)).sort((a,
    b) => (a.source === 'default') - (b.source === 'default'));
  return h('section', { key: 'settings' }, h('h2', {}, 'Settings in force'),
    h('div', { class: 'toolbar' },
    h('label', { class: 'grow' }, 'Filter', h('input', { type: 'search', value: ctx.query.q ?? '', oninput: (e) => ctx.set({ q: e.target.value }) }))),
    table([['Setting', (s) => h('code', {}, s.name), 'nowrap'], ['Value', (s) => `${s.value}`],
      ['Default', (s) => (s.value === s.default ? '' : `${s.default}`)], ['From', (s) => badge(s.source, s.source === 'default' ? 'plain' : 'note')],
      ['Means', (s) => s.description, 'wide']], all, { key: (s) => s.name, nothing: 'No setting matches.' }));
}

export const policy = {
  local: true,
  title: () => 'Policy',
  wants: (ctx, e) => e.kind === 'policy',
  async load() {
    const [now, versions, settings, clusters] = await Promise.all([ask('policy'), maybe(ask('policy/versions?limit=50')), maybe(ask('policies')), clusterNames()]);
    return { now, versions: versions.items, settings, clusters };
  },
  render: (ctx, data) => [
    h('h1', { key: 'h1' }, data.now.version ? `Policy, version ${data.now.version}` : 'Policy'),
    h('p', { class: 'quiet', key: 'who' },
      data.now.version ? ['In force since ', when(data.now.createdAt), ` by ${data.now.author ?? ''}`, data.now.comment && `: ${data.now.comment}`,
      '.'] : 'No policy document: the built-in settings count.', ` Fault table ${data.settings.faultTableVersion ?? ''}.`),
    data.now.document && h('pre', { key: 'document', tabindex: 0 }, data.now.document),
    whatIf(ctx, data),
    h('section', { key: 'versions' }, h('h2', {}, 'History'), versionTable(data.versions)),
    settingsView(ctx, data),
    same('hpctl policy show', 'GET /v1/policy'),
  ],
};

export const policyVersion = {
  title: ({ names }) => `Policy version ${names[0]}`,
  wants: (ctx, e) => e.kind === 'policy',
  async load({ names: [number] }) {
    const [one, now] = await Promise.all([ask(`policy/versions/${segment(number)}`), ask('policy')]);
    const before = one.version > 1 ? await maybe(ask(`policy/versions/${one.version - 1}`)) : {};
    return { one, now, before: before.document ?? '' };
  },
  render: (ctx, { one, now, before }) => [
    h('p', { class: 'crumb', key: 'crumb' }, link('#/policy', 'Policy'), ` / version ${one.version}`),
    h('h1', { key: 'h1' }, `Policy, version ${one.version}${one.version === now.version ? ', in force' : ''}`),
    h('p', { class: 'quiet', key: 'who' }, `${one.author ?? ''} `, when(one.createdAt), one.comment && `: ${one.comment}`, one.restores && ` It restores version ${one.restores}.`),
    ctx.may('admin') && one.version !== now.version && h('div', { class: 'row', key: 'actions' },
      h('button', { type: 'button',
      onclick: () => confirm({ title: `Go back to version ${one.version}?`, verb: 'Roll back', danger: true,
      body: [h('p', {}, 'Its text becomes a new version, which counts at once.'), diffView(now.document ?? '', one.document)],
      fields: [h('label', {}, 'Comment', h('input', { name: 'comment', maxlength: 191, autocomplete: 'off' }))], run: async ({ comment }) => {
      const made = await post('policy/rollback', { version: one.version, expectedVersion: now.version, ...(comment ? { comment } : {}) });
      ctx.again();
      return `Version ${made.version} of the policy is in force.`;
    } }) }, 'Roll back to it')),
    h('section', { key: 'diff' }, h('h2', {}, one.version > 1 ? `Changed from version ${one.version - 1}` : 'The first document'), diffView(before, one.document)),
    one.version !== now.version && h('section', { key: 'now' }, h('h2', {}, `Changed since, to version ${now.version}`), diffView(one.document, now.document ?? '')),
    same(`hpctl policy export ${one.version}`, `GET /v1/policy/versions/${one.version}`),
  ],
};
