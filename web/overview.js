// All clusters: how each stands, and what waits in it.
import { ask, maybe } from './api.js';
import { clusterPath, h, link, same } from './dom.js';
import { plural } from './format.js';
import { badge } from './looks.js';
import { headlineView } from './standing.js';

const BAR = [['ready', 'good'], ['repairing', 'work'], ['verifying', 'work'], ['starting', 'work'], ['pending', 'work'], ['held', 'warn'], ['failed', 'bad'],
  ['deleting', 'quiet']];

export const stateBar = (states, total) => h('div',
  { class: 'bar', role: 'img', 'aria-label': BAR.filter(([s]) => states[s]).map(([s]) => `${states[s]} ${s}`).join(', ') || 'no nodes' },
  BAR.filter(([state]) => states[state]).map(([state, tone]) => h('i', { class: `fill-${tone}`, style: { width: `${(100 * states[state]) / Math.max(1, total)}%` } })));

export const overview = {
  title: () => 'Clusters',
  async load() {
    const [clusters, approvals, incidents, webhooks,
      schedulers] = await Promise.all([ask('clusters?limit=1000'), maybe(ask('approvals?state=asked&limit=200')), maybe(ask('incidents?state=open&limit=100')),
      maybe(ask('webhooks')), maybe(ask('schedulers'))]);
    return { clusters: clusters.items, approvals: approvals.items, incidents: incidents.items, webhooks: webhooks.items, schedulers: schedulers.items };
  },
  render(ctx, { clusters, approvals, incidents, webhooks, schedulers }) {
    const of = (items, name) => items.filter((one) => one.cluster === name);
    return [
      h('div', { class: 'page-head', key: 'head' }, h('h1', {}, 'Clusters'), ctx.may('admin') && h('div', { class: 'row' }, link('#/new', 'New cluster'))),
      webhooks.filter((w) => w.state !== 'ok').map((w) => h('p', { class: 'banner warn', key: `webhook-${w.name}` }, link('#/webhooks', `Webhook ${w.name}`),
        ` delivers nothing: ${w.error ?? w.state}`)),
      schedulers.filter((s) => s.state === 'down').map((s) => h('p', { class: 'banner bad', key: `scheduler-${s.name}` },
        link('#/schedulers', `Scheduler ${s.name}`), ` does not answer: ${s.error ?? ''}`)),
      clusters.length === 0 && h('div', { class: 'empty', key: 'empty' }, h('p', {}, h('strong', {}, 'No clusters yet.')),
        h('p', {}, 'A cluster is a set of machines that one scheduler gives work to. Describe it in a file and create it:'),
        h('pre', {}, 'hpctl cluster create -f docs/examples/local-cluster.yaml --wait'),
          h('p', {}, 'docs/examples/ has files for an existing Slurm and for simulated machines. docs/clusters.md says what a file may hold.')),
      h('div', { class: 'cards', key: 'cards' },
        clusters.map((view) => h('section', { class: 'card', key: view.name },
        headlineView({ view, approvals: of(approvals, view.name), incidents: of(incidents, view.name) }, 'h2'),
        stateBar(view.nodesByState, view.nodeCount),
        h('p', { class: 'quiet' }, badge(view.state),
          ` ${view.orchestrator === 'none' ? 'no scheduler' : view.orchestrator}, recovery ${view.nodeRecovery === 'None' ? 'off' : 'automatic'}, `,
          link(clusterPath(view.name), plural(view.nodeCount, 'node')))))),
      same('hpctl cluster list', 'GET /v1/clusters'),
    ];
  },
};
