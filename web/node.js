// One node: what hpctl node explain says, with what it was said from.
import { ask, query, segment } from './api.js';
import { eventTable } from './events.js';
import { ago, facts, h, link, path, table, word } from './dom.js';

function decision(d) {
  if (!d) return h('p', { class: 'quiet' }, 'Nothing has been decided about it yet.');
  return [
    h('p', { id: 'decision' }, d.sentence),
    facts([['What', d.action], ['Rule', d.rule], ['Class', d.class], ['Device', d.device], ['When', ago(d.at)], ['Operation', d.operation],
      ['Fault table', d.tableVersion], ['Policy version', d.policyVersion && `${d.policyVersion}`]]),
    h('h3', {}, 'Gates'),
    table([['Gate', (g) => g.gate], ['Result', (g) => word(g.result)], ['Why', (g) => g.detail]], d.gates.filter((g) => g.result !== 'not-asked'), 'None was asked.'),
    h('h3', {}, 'Not done'),
    table([['What', (a) => a.action], ['Why not', (a) => a.why]], d.alternatives, 'There was no alternative.'),
  ];
}

export async function node(cluster, name) {
  const one = `clusters/${segment(cluster)}/nodes/${segment(name)}`;
  const of = query({ cluster, node: name, limit: 20 });
  const [said, view, verdicts, operations, events] = await Promise.all([
    ask(`${one}/explanation`), ask(one), ask(`${one}/verdicts?limit=20`), ask(`operations${of}`), ask(`events${of}`)]);
  return [
    h('h1', {}, `${name} in `, link(path('clusters', cluster), cluster)),
    h('p', { class: 'why', id: 'why' }, said.why),
    said.nextSteps.length > 0 && [h('h2', {}, 'What you can do'), h('ul', {}, said.nextSteps.map((w) => h('li', {}, h('code', {}, w.command), ` ${w.why}`)))],
    facts([['State', word(view.state)], ['Why', view.reason && h('span', { id: 'reason' }, view.reason)], ['Since', ago(view.stateSince)], ['Health', word(view.health)], ['Group', view.group],
      ['Opted out', view.optedOut ? 'yes' : ''], ['Instance', view.instanceId], ['Boot', view.bootAt && ago(view.bootAt)], ['Agent heard', ago(view.live?.lastHeartbeatAt)],
      ['Rack', view.rack], ['Switch', view.switch], ['UltraServer', view.ultraserver], ['Zone', view.zone]]),
    h('h2', {}, 'The last decision on it'), decision(said.decision),
    h('h2', {}, 'What was seen'),
    table([['Code', (v) => v.code], ['Device', (v) => v.device], ['Severity', (v) => word(v.severity)], ['State', (v) => v.state], ['Last', (v) => ago(v.lastAt)], ['Times', (v) => `${v.count}`], ['Line', (v) => v.rawLine]],
      verdicts.items, 'Its agent has reported nothing.'),
    h('h2', {}, 'What was done'),
    table([['What', (o) => o.kind], ['State', (o) => word(o.state)], ['Why', (o) => o.reason], ['Asked by', (o) => o.actor], ['When', (o) => ago(o.createdAt)], ['Id', (o) => o.id]], operations.items, 'Nothing.'),
    h('h2', {}, 'What happened'), eventTable(events.items, 'Nothing.'),
    h('details', {}, h('summary', {}, 'All of it in sentences, as hpctl node explain says it'), h('pre', { id: 'explanation' }, said.text)),
  ];
}
