// Machines that a site owns: spares, the bench, burn-in. One of them with the nodes that it was, and the evidence for a vendor's ticket.
import { ask, maybe, post, segment } from './api.js';
import { confirm, reasonField } from './dialog.js';
import { clusterPath, facts, h, link, nodeLink, path, same, table } from './dom.js';
import { ago, capital, told } from './format.js';
import { hasWords, listView, option } from './list.js';
import { badge } from './looks.js';

const TONE = { spare: 'good', 'in-use': 'plain', bench: 'bad', 'burn-in': 'work', retired: 'quiet' };
const standing = (m) => [badge(m.state, TONE[m.state]), m.state === 'spare' && [' ', m.ready ? badge('ready', 'good') : badge('not ready', 'warn')]];
const usedBy = (use) => use && (use.node ? nodeLink(use.cluster, use.node) : use.cluster && link(clusterPath(use.cluster), use.cluster));

export const machines = listView({
  title: 'Machines', path: () => 'machines', key: (m) => m.name, wants: (ctx, e) => /^(machine|spares|instance|operation|capacity)/.test(e.kind),
  filters: [{ name: 'state', label: 'State', options: ['spare', 'in-use', 'bench', 'burn-in', 'retired'] },
    { name: 'q', label: 'Words', text: true, local: true, placeholder: 'name, type, rack, serial',
    fits: hasWords('name', 'type', 'rack', 'switch', 'serial', 'address', 'reason') }],
  columns: () => [['Machine', (m) => link(path('machines', m.name), m.name), 'nowrap'], ['State', standing, 'nowrap'], ['Used by', (m) => usedBy(m.use)],
    ['Reason', (m) => [told(m.trouble ?? m.notReady ?? m.reason)]], ['Type', (m) => m.type], ['Rack', (m) => m.rack], ['Agent seen', (m) => ago(m.agentSeenAt)],
    ['Changed', (m) => ago(m.changedAt), 'nowrap']],
  nothing: [h('p', {}, h('strong', {}, 'No machine is in an inventory.')),
    h('p', {}, 'Where a site owns its machines, an inventory knows the spares that replace broken ones, and the bench. Put machines into it: ',
    h('code', {}, 'hpctl machine add -f FILE'))],
  hpctl: (q) => `hpctl machine list${option('state', q.state)}`,
});

const MOVES = [
  { verb: 'return', from: ['bench', 'retired'],
    does: 'It goes to burn-in: what was found before counts no more, and it becomes a spare when its agent has found nothing wrong for a while.' },
  { verb: 'release', from: ['burn-in'], does: 'The burn-in ends and the machine is a spare at once.' },
  { verb: 'bench', from: ['spare', 'burn-in'], does: 'It stays at the bench until somebody returns it. No job runs on it.' },
  { verb: 'retire', from: ['spare', 'bench', 'burn-in'], danger: true, does: 'It leaves the inventory for good. What it was stays known. No job runs on it.' },
];

const moves = (ctx, m) => h('div', { class: 'row actions', key: 'actions' },
  MOVES.filter((move) => move.from.includes(m.state)).map((move) => h('button', { type: 'button', key: move.verb, onclick: () => confirm({
  title: `${capital(move.verb)} ${m.name}?`, verb: capital(move.verb), danger: move.danger, body: h('p', {}, move.does), fields: [reasonField()],
  run: async ({ reason }) => {
    const now = await post(`machines/${segment(m.name)}/${move.verb}`, reason ? { reason } : {});
    ctx.again();
    return `${m.name} is ${now.state} now.`;
  } }) }, capital(move.verb))));

function evidenceView({ evidence }) {
  const uses = (evidence.uses ?? []).filter((u) => u.verdicts?.length > 0);
  return h('section', { key: 'evidence' }, h('h2', {}, 'Evidence for the vendor'),
    uses.length === 0 ? h('p', { class: 'quiet' }, 'Its agent saw no fault on the last 20 nodes that it was.')
    : table([['Seen', (v) => ago(v.lastAt), 'nowrap'], ['Code', (v) => v.code, 'nowrap'], ['Device', (v) => v.device], ['Severity', (v) => badge(v.severity)],
      ['Line', (v) => v.rawLine && h('code', {}, v.rawLine), 'wide']], uses.flatMap((u) => u.verdicts), { key: (v) => `${v.id}` }));
}

export const machine = {
  title: ({ names }) => names[0],
  wants: (ctx, e) => /^(machine|spares|instance|operation)/.test(e.kind),
  async load({ names: [name] }) {
    const [one, evidence] = await Promise.all([ask(`machines/${segment(name)}`), maybe(ask(`machines/${segment(name)}/evidence`))]);
    return { one, evidence };
  },
  render: (ctx, data) => {
    const { one: m } = data;
    return [h('p', { class: 'crumb', key: 'crumb' }, link('#/machines', 'Machines'), ` / ${m.name}`),
      h('div', { class: `headline ${TONE[m.state] === 'plain' ? 'good' : TONE[m.state]}`, key: 'headline' },
        h('h1', {}, `${m.name} is ${m.state === 'bench' ? 'at the bench' : m.state.replace('-', ' ')}`),
        h('p', { class: 'quiet' }, told(m.reason), m.use && [' · ', usedBy(m.use)])),
      (m.notReady || m.trouble) && h('p', { class: 'banner warn', key: 'trouble' }, told(m.trouble ?? m.notReady)),
      ctx.may('operator') && m.state !== 'in-use' && moves(ctx, m),
      facts([['Type', m.type], ['Provider', m.provider], ['Serial', m.serial], ['Rack', m.rack], ['Switch', m.switch], ['Chassis', m.chassis],
        ['Address', m.address], ['BMC', m.bmc], ['Agent seen', ago(m.agentSeenAt)], ['Changed', ago(m.changedAt)]]),
      h('section', { key: 'uses' }, h('h2', {}, 'Nodes that it was'),
        table([['Node', usedBy], ['Taken', (u) => ago(u.takenAt)], ['Given back', (u) => ago(u.givenBackAt)], ['', (u) => u.broken && badge('broken', 'bad')],
        ['Reason', (u) => told(u.reason)]], m.uses ?? [], { nothing: 'It was no node yet.' })),
      evidenceView(data),
      same(`hpctl machine describe ${m.name}`, `GET /v1/machines/${m.name}`)];
  },
};
