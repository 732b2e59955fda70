// How a cluster stands: the headline, what waits for a person, and what goes on by itself. The answer at 3 a.m.
import { ask, maybe, post, query, segment } from './api.js';
import { answer, verb } from './answer.js';
import { confirm, reasonField, say } from './dialog.js';
import { clusterPath, h, link, nodeLink, nodePath, path } from './dom.js';
import { ago, list, plural, sentence, since, told } from './format.js';
import { lookOf, natural } from './looks.js';

const CAUSES = 12; // so many different reasons are asked about
const ALIKE = 2; // more approvals of one fault than that are one line
const known = new Map(); // explanations by node and what it stands on

export async function standingOf(name) {
  const [view, approvals, incidents] = await Promise.all([ask(`clusters/${segment(name)}`), maybe(ask('approvals?state=asked&limit=200')),
    maybe(ask(`incidents${query({ cluster: name, state: 'open', limit: 100 })}`))]);
  return { view, approvals: approvals.items.filter((a) => a.cluster === name), moreApprovals: approvals.nextCursor, incidents: incidents.items };
}

const inService = (view) => view.nodesByState.ready ?? 0;

export function headline({ view, approvals = [], incidents = [] }) {
  const ready = inService(view);
  const parts = [];
  const groups = view.instanceGroups ?? [];
  const failed = view.nodesByState.failed ?? 0;
  const repairing = view.nodesByState.repairing ?? 0;
  if (view.state === 'failed') parts.push(['bad', `cluster failed${view.failureMessage ? `: ${view.failureMessage}` : ''}`]);
  for (const i of incidents) parts.push(['bad', `${i.level} ${i.domain} ${{ network: 'has network faults', power: 'has power faults' }[i.cause] ?? 'down'} (${plural(i.affected, 'node')})`]);
  const open = groups.filter((g) => g.breaker.open).map((g) => g.name);
  if (open.length) parts.push(['bad', `breaker open in ${list(open)}`]);
  if (failed) parts.push(['bad', `${failed} failed`]);
  if (view.scheduler?.state === 'down') parts.push(['bad', `scheduler ${view.scheduler.name} down`]);
  if (approvals.length) parts.push(['warn', `${plural(approvals.length, 'approval')} waiting`]);
  if (view.pause) parts.push(['warn', `paused by ${view.pause.by.replace(/^token:/, '')}${view.pause.reason ? `: ${view.pause.reason}` : ''}`]);
  if (view.nodesByState.held) parts.push(['warn', `${view.nodesByState.held} held`]);
  const unknown = (view.nodesByHealth.unknown ?? 0);
  if (unknown && view.state === 'in-service') parts.push(['warn', `health of ${plural(unknown, 'node')} unknown`]);
  if (repairing) parts.push(['work', `${repairing} in repair`]);
  if (view.state !== 'in-service' && view.state !== 'failed') parts.push(['work', view.state]);
  const tone = parts.some(([t]) => t === 'bad') ? 'bad' : parts.some(([t]) => t === 'warn') ? 'warn' : parts.length || ready < view.nodeCount ? 'work' : 'good';
  return { text: `${ready.toLocaleString('en')} of ${plural(view.nodeCount, 'node')} in service`, parts, tone };
}

const plain = (reason) => (reason ?? '').replace(/\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}(\.\d)?\b/g, 'a device').replace(/GPU-[0-9a-f-]+/g,
  'a GPU').replace(/\d\d:\d\d(:\d\d)?( UTC)?/g, '…').replace(/\b\d+[smhd]\b/g, '…');

async function explained(cluster, node) {
  const key = `${cluster}/${node.name}/${node.state}/${node.stateSince}/${node.reason}`;
  if (!known.has(key)) {
    if (known.size > 500) known.clear();
    known.set(key, maybe(ask(`clusters/${segment(cluster)}/nodes/${segment(node.name)}/explanation`)));
  }
  return known.get(key);
}

// Nodes that are not well, by cause: those that wait for a person, as the server says, and those that heal by themselves.
export async function causesOf(cluster, nodes, approvals, incidents) {
  const asked = new Set(approvals.map((a) => a.node));
  const within = (n) => incidents.some((i) => n[i.level] === i.domain);
  const causes = new Map();
  for (const node of nodes) {
    const look = lookOf(node);
    if (!node.waitsForPerson && ['ok', 'noted', 'leaving', 'repairing', 'coming'].includes(look)) continue;
    if (asked.has(node.name) || within(node)) continue;
    const key = `${look}:${node.waitsForPerson}:${plain(node.reason)}`;
    if (!causes.has(key)) causes.set(key, { key, look, person: node.waitsForPerson, nodes: [] });
    causes.get(key).nodes.push(node);
  }
  const all = [...causes.values()].sort((a, b) => b.nodes.length - a.nodes.length);
  await Promise.all(all.slice(0, CAUSES).map(async (cause) => {
    cause.nodes.sort((a, b) => natural(a.name, b.name));
    cause.said = await explained(cluster, cause.nodes[0]);
  }));
  return { person: all.filter((c) => c.person), itself: all.filter((c) => !c.person) };
}

/* --- as it is shown --------------------------------------------------------------------------------------- */

export const headlineView = (standing, level = 'h1') => {
  const { text, parts, tone } = headline(standing);
  return h('div', { class: `headline ${tone}`, key: 'headline' },
    h(level, {}, level === 'h1' ? text : link(clusterPath(standing.view.name), standing.view.name),
    level === 'h1' ? undefined : h('span', { class: 'count-line' }, text)),
    parts.length > 0 && h('ul', { class: 'parts' }, parts.map(([t, words]) => h('li', { class: t }, words))));
};

const item = ({ key, tone = 'warn', title, detail, buttons, command }) => h('li', { class: `item ${tone}`, key },
  h('div', { class: 'what' }, h('strong', {}, title), detail && h('p', {}, detail), command && h('code', { class: 'command' }, command)),
  buttons && h('div', { class: 'row' }, buttons));

export const actionButton = (label, onclick, style) => h('button', { type: 'button', class: style, onclick }, label);

export function resume(ctx, cluster) {
  confirm({ title: `Resume ${cluster}?`, body: h('p', {}, 'Holdfast acts on its nodes again. Open faults are decided on at once, so repairs may start.'),
    fields: [reasonField()], verb: 'Resume',
    run: async ({ reason }) => {
      await post(`clusters/${segment(cluster)}/resume`, reason ? { reason } : {});
      ctx.again();
      return `${cluster} is resumed.`;
    } });
}

export function pause(ctx, cluster) {
  confirm({ title: `Pause ${cluster}?`,
    body: h('p', {}, 'No repair, reset or return begins automatically until you resume it. Running operations go on to their end. Running jobs are not touched.'),
    fields: [reasonField('Reason, for the others on call')], verb: 'Pause',
    run: async ({ reason }) => {
      await post(`clusters/${segment(cluster)}/pause`, reason ? { reason } : {});
      ctx.again();
      return `${cluster} is paused.`;
    } });
}

function resumeGroup(ctx, cluster, group) {
  confirm({ title: `Resume group ${group}?`, body: h('p', {}, 'Replacements in this group go on, although new machines did not come up.'), fields: [reasonField()], verb: 'Resume',
    run: async ({ reason }) => {
      await post(`clusters/${segment(cluster)}/groups/${segment(group)}/resume`, reason ? { reason } : {});
      ctx.again();
      return `Group ${group} goes on.`;
    } });
}

const answerAll = (ctx, approval, yes) => async (event) => {
  event.target.disabled = true;
  try {
    say(await answer(approval.id, yes));
  } catch (error) {
    say(error.message);
  }
  ctx.again();
};

const names = (cluster, nodes) => nodes.slice(0, 8).map((n, i) => [i > 0 && ', ', nodeLink(cluster, n.name)]).concat(nodes.length > 8 ? [` and ${nodes.length - 8} more`] : []);

// The jobs that a repair of the node would hit, in a sentence; nothing where they are not known yet.
function hits(jobs, node) {
  if (!jobs) return undefined;
  if (jobs.unknown) return 'Running jobs are not known.';
  const on = jobs.on.get(node) ?? [];
  return on.length === 0 ? 'No job runs on it.' : h('strong', {}, `Hits ${list(on.map((j) => `job ${j.id}${j.name ? ` ${j.name}` : ''} (${plural(j.nodeCount, 'node')})`))}.`);
}

function approvalItem(ctx, cluster, a, jobs) {
  const operator = ctx.may('operator');
  return item({ key: `approval-${a.id}`, title: [`${verb(a)} `, nodeLink(cluster, a.node), '?'], detail: [told(a.sentence), ' Asked ', ago(a.askedAt), '. ', hits(jobs, a.node)],
    command: operator ? undefined : `hpctl operation approve ${a.id}`,
    buttons: [operator && actionButton('Approve', answerAll(ctx, a, true), 'primary'), operator && actionButton('Reject', answerAll(ctx, a, false)),
      link(path('approvals', a.id), 'Evidence and jobs')] });
}

// One by one; where many nodes show the same fault, together.
function approvalItems(ctx, cluster, approvals, jobs) {
  const alike = new Map();
  for (const a of approvals) alike.set(`${a.action} ${a.code}`, [...(alike.get(`${a.action} ${a.code}`) ?? []), a]);
  return [...alike].flatMap(([key, all]) => all.length <= ALIKE ? all.map((a) => approvalItem(ctx, cluster, a, jobs))
    : item({ key: `approvals-${key}`, title: `${verb(all[0])} ${plural(all.length, 'node')}?`,
      detail: [told(all[0].sentence), ' ', names(cluster, all.map((a) => ({ name: a.node })).sort((x, y) => natural(x.name, y.name)))],
      buttons: [link('#/approvals', 'Answer them together')] }));
}

// What a person has to do, most urgent first.
export function waitingItems(ctx, { view, approvals, incidents, jobs }, causes) {
  const cluster = view.name;
  const operator = ctx.may('operator');
  const items = [];
  for (const i of incidents) items.push(item({ key: `incident-${i.id}`, tone: 'bad',
    title: [link(path('incidents', i.id), `${i.level} ${i.domain}`), `: ${i.affected} of ${plural(i.nodes, 'node')}, ${i.cause}`],
    detail: ['One cause for many nodes, so none is repaired automatically. Check the ', i.level, '. For ', since(i.startedAt), '.'] }));
  if (view.pause) items.push(item({ key: 'pause', title: ['Paused by ', view.pause.by, ' for ', since(view.pause.since)],
    detail: `${view.pause.reason ? `${sentence(view.pause.reason)} ` : ''}No repair begins automatically.`,
    command: operator ? undefined : `hpctl cluster resume ${cluster}`,
    buttons: operator && [actionButton('Resume', () => resume(ctx, cluster))] }));
  for (const g of view.instanceGroups ?? []) {
    if (g.breaker.open) items.push(item({ key: `breaker-${g.name}`, tone: 'bad', title: `Breaker open in group ${g.name}`,
      detail: ['Many of its nodes fail at once, so the cause is likely something else: power, network or an update. No repair starts. It closes automatically. Open for ', since(g.breaker.openedAt), '.'] }));
    if (g.protection.on) items.push(item({ key: `protection-${g.name}`, tone: 'bad', title: `Replacements stopped in group ${g.name}`,
      detail: `${plural(g.protection.failedInARow ?? 0, 'new machine')} in a row did not come up. Check the image and the provider, then resume.`,
      command: operator ? undefined : `hpctl group resume ${g.name} --cluster ${cluster}`,
      buttons: operator && [actionButton('Resume', () => resumeGroup(ctx, cluster, g.name))] }));
    if (g.capacity.short) items.push(item({ key: `capacity-${g.name}`, title: `No machine available for group ${g.name}`,
      detail: ['The provider had none for ', since(g.capacity.since), '. It is asked again ', ago(g.capacity.askedAgainAt), '.'] }));
    if (g.failureMessage) items.push(item({ key: `group-${g.name}`, title: `Group ${g.name}: ${g.state}`, detail: g.failureMessage }));
  }
  if (view.scheduler?.state === 'down') items.push(item({ key: 'scheduler', tone: 'bad', title: `Scheduler ${view.scheduler.name} does not answer`,
    detail: `${sentence(view.scheduler.error ?? 'The reason is not known')} Nodes are still judged. Steps that need the scheduler wait.` }));
  if (view.failureMessage) items.push(item({ key: 'cluster', tone: 'bad', title: `The last change of ${cluster} failed`, detail: view.failureMessage }));
  items.push(...approvalItems(ctx, cluster, approvals, jobs));
  for (const cause of causes?.person ?? []) items.push(causeItem(cluster, cause));
  return items;
}

function causeItem(cluster, cause) {
  const [first] = cause.nodes;
  const one = cause.nodes.length === 1;
  const step = cause.said?.nextSteps?.[0];
  return item({ key: `cause-${cause.key}`, tone: cause.look === 'failed' || cause.look === 'unhealthy' ? 'bad' : 'warn',
    title: one ? [nodeLink(cluster, first.name), `: `, told(first.reason ?? cause.look)] : [`${plural(cause.nodes.length, 'node')}: `,
    told(first.reason ?? cause.look)],
    detail: [one ? told(cause.said?.why) : names(cluster, cause.nodes)], command: step?.command,
      buttons: [link(nodePath(cluster, first.name), one ? 'Open' : `Open ${first.name}`)] });
}

export const itselfItems = (cluster, causes) => (causes?.itself ?? []).map((cause) => causeItem(cluster, cause));
