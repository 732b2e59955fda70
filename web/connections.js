// What hpd is connected with: webhooks and schedulers.
import { ask, maybe, post, segment } from './api.js';
import { say } from './dialog.js';
import { facts, h, link, path, same, table } from './dom.js';
import { ago, list, plural, since, told, when } from './format.js';
import { listView } from './list.js';
import { badge } from './looks.js';

const webhookList = listView({
  title: 'Webhooks', path: () => 'webhooks', whole: true, key: (w) => w.name, filters: [], wants: (ctx, e) => e.kind.startsWith('webhook'),
  intro: 'hpd tells events to these addresses, at least once and in order.',
  columns: () => [['Webhook', (w) => h('strong', {}, w.name)], ['Address', (w) => w.origin], ['Format', (w) => w.format],
    ['State', (w) => [badge(w.state), w.failingSince && [' for ', since(w.failingSince)]]], ['Error', (w) => w.error],
    ['Waiting', (w) => (w.waiting ? `${w.waiting}` : '')], ['Delivered', (w) => [`${w.delivered}`, w.deliveredAt && [', last ', ago(w.deliveredAt)]]],
    ['Lost', (w) => (w.refused + w.givenUp ? `${w.refused} refused, ${w.givenUp} too old` : '')],
    ['Told of', (w) => `${w.minLevel} and above${w.kinds.length ? `: ${list(w.kinds)}` : ''}${w.clusters.length ? `, in ${list(w.clusters)}` : ''}`]],
  buttons: (ctx, items) => ctx.may('operator') && items.length > 0 && h('button', { type: 'button', onclick: async () => {
    try {
      await post('webhooks/test');
      say('A test event is on its way to each webhook.');
    } catch (error) {
      say(error.message);
    }
    ctx.again();
  } }, 'Send a test'),
  nothing: [h('p', {}, h('strong', {}, 'No webhook.')),
    h('p', {}, 'Nobody is told when a repair waits for an approval at night. Add one to hpd\'s configuration:'),
    h('pre', {}, 'webhooks:\n  - name: oncall\n    url: https://example.org/hook'), h('p', {}, 'hpd(8) says the rest.')],
  hpctl: () => 'hpctl webhook list',
});

function failedView(ctx, failed) {
  const sent = failed.filter((m) => m.event && !m.again).length;
  const again = async () => {
    try {
      say(`${plural((await post('webhooks/resend')).count, 'message')} sent again.`);
    } catch (error) {
      say(error.message);
    }
    ctx.again();
  };
  return h('section', { key: 'failed' }, h('div', { class: 'page-head' }, h('h2', {}, 'Messages that were not taken'),
    ctx.may('operator') && sent > 0 && h('button', { type: 'button', onclick: again }, 'Send again')),
  table([['Webhook', (m) => m.webhook], ['When', (m) => when(m.at), 'nowrap'], ['Event', (m) => (m.event ? [`${m.event.kind}: `, told(m.event.message)] : 'forgotten')],
    ['Why', (m) => m.why], ['', (m) => m.again && badge('sent again', 'work')]], failed.slice(0, 100), { key: (m) => `${m.webhook}-${m.eventId}` }));
}

export const webhooks = {
  ...webhookList,
  async load(ctx) {
    const [data, failed] = await Promise.all([webhookList.load(ctx), maybe(ask('webhooks/failed'))]);
    return { ...data, failed: failed.items };
  },
  render(ctx, data) {
    const parts = webhookList.render(ctx, data);
    return [...parts.slice(0, -1), data.failed.length > 0 && failedView(ctx, data.failed), parts.at(-1)];
  },
};

export const schedulers = listView({
  title: 'Schedulers', path: () => 'schedulers', whole: true, key: (s) => s.name, filters: [], wants: (ctx, e) => e.kind.startsWith('scheduler'),
  columns: () => [['Scheduler', (s) => link(path('schedulers', s.name), s.name)], ['Kind', (s) => s.kind],
    ['State', (s) => [badge(s.state), s.since && [' for ', since(s.since)]]], ['Seen', (s) => ago(s.seenAt) ?? 'never'],
    ['Nodes', (s) => `${s.nodeCount ?? 'not known'}${s.unassignedCount ? `, ${s.unassignedCount} in no group` : ''}`],
    ['Clusters', (s) => s.clusters.join(', ')], ['Transport', (s) => s.transport], ['Error', (s) => s.error ?? s.drift]],
  nothing: [h('p', {}, h('strong', {}, 'No scheduler.')),
    h('p', {}, 'Without one, nodes are judged and repaired, and no jobs are drained. docs/install-slurm.md and docs/install-kubernetes.md say how to attach one.')],
  hpctl: () => 'hpctl scheduler list',
});

export const scheduler = {
  title: ({ names }) => names[0],
  wants: (ctx, e) => e.kind.startsWith('scheduler'),
  load: ({ names: [name] }) => ask(`schedulers/${segment(name)}`),
  render: (ctx, v) => {
    const s = v.scheduler;
    return [h('p', { class: 'crumb', key: 'crumb' }, link('#/schedulers', 'Schedulers'), ` / ${s.name}`),
      h('div', { class: `headline ${{ up: 'good', down: 'bad' }[s.state] ?? 'warn'}`, key: 'headline' },
        h('h1', {}, `${s.name} is ${s.state === 'unknown' ? 'not known yet' : s.state}`),
        h('p', { class: 'quiet' }, s.kind, s.since && [' · for ', since(s.since)])),
      s.error && h('p', { class: 'banner bad', key: 'error' }, s.error), v.nodesUnknown && h('p', { class: 'banner warn', key: 'unknown' }, v.nodesUnknown),
      facts([['Transport', s.transport], ['Configuration', s.configuration], ['Drift', s.drift], ['Seen', ago(s.seenAt)],
        ['Nodes', v.nodeCount !== undefined && `${v.nodeCount}, ${v.unassignedCount} in no group`]]),
      h('section', { key: 'partitions' }, h('h2', {}, 'Partitions'),
        table([['Partition', (p) => p.name], ['Nodes', (p) => `${p.nodeCount}: ${p.nodes}`], ['In no group', (p) => p.unassigned],
        ['Features', (p) => p.features.join(', ')]], v.partitions ?? [], { key: (p) => p.name, nothing: 'No partition is known.' })),
      same(`hpctl scheduler describe ${s.name}`, `GET /v1/schedulers/${s.name}`)];
  },
};
export const schedulerNames = async () => (await maybe(ask('schedulers'))).items.map((s) => s.name);
