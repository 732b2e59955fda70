// What a person may do with a node. Each says what it does, and to which running jobs, before it is confirmed.
import { ask, post, query, segment } from './api.js';
import { confirmOnNode, reasonField } from './dialog.js';
import { h } from './dom.js';

const urgency = () => h('fieldset', {}, h('legend', {}, 'Running jobs'),
  h('label', { class: 'check' }, h('input', { type: 'radio', name: 'urgency', value: 'after-jobs', checked: true }), 'may finish, within the limit of the policy'),
  h('label', { class: 'check' }, h('input', { type: 'radio', name: 'urgency', value: 'now' }), 'are requeued or ended now'));
const started = (o) => `${o.kind} of ${o.node} started: operation ${o.id}.`;
const given = ({ reason, urgency: when }) => ({ ...(reason ? { reason } : {}), ...(when ? { urgency: when } : {}) });

// of: {cluster, node, view}. shown: whether it makes sense for the node as it is.
export const ACTIONS = [
  { id: 'release', label: 'Release', shown: ({ view }) => ['held', 'failed'].includes(view.state),
    does: 'Its open verdicts are settled. The node is checked and returns to service. Release it when you have looked at the machine.', fields: () => [reasonField()],
    run: (at, v) => post(`${at}/release`, given(v)).then(started) },
  { id: 'reboot', label: 'Reboot', shown: ({ view }) => !view.activeOperation,
    does: 'The node takes no new jobs. When its jobs have left, the machine reboots. After the return checks it is back in service.', fields: () => [urgency(), reasonField()],
    run: (at, v) => post(`${at}/reboot`, given(v)).then(started) },
  { id: 'replace', label: 'Replace', danger: true, shown: ({ view }) => !view.activeOperation,
    does: 'The node takes no new jobs. When its jobs have left, the machine is terminated and a new one fills the slot. The node keeps its name. Files on the local disks are lost.', fields: () => [urgency(), reasonField()],
    run: (at, v) => post(`${at}/replace`, given(v)).then(started) },
  { id: 'drain', label: 'Drain and hold', shown: ({ view }) => view.state === 'ready',
    does: 'The node takes no new jobs and running jobs finish. Then it stays out of service until somebody releases it. Use it when you are certain of a fault that no check sees.',
    fields: () => [h('label', {}, 'What is wrong', h('input', { name: 'text', required: true, maxlength: 191, autocomplete: 'off' }))],
    run: async (at, { text }, { node }) => {
      await post(`${at}/reports`, { kind: 'certain', text });
      return `${node} is drained and held.`;
    } },
  { id: 'check', label: 'Deep check', shown: ({ view }) => !view.activeOperation,
    does: 'The node takes no new jobs. When it is idle its hardware is tested under load: up to five minutes when quick, up to hours when deep. A node that fails is repaired.',
    fields: () => [h('label', {}, 'Profile', h('select', { name: 'profile' }, h('option', { value: 'quick' }, 'quick'), h('option', { value: 'deep' }, 'deep'))),
      h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'force', value: 'yes' }), 'Requeue running jobs instead of waiting for them')],
    run: async (at, { profile, force }, { cluster, node }) => {
      const { refused } = await post(`clusters/${segment(cluster)}/checks`, { nodes: [node], profile, ...(force ? { force: true } : {}) });
      if (refused.length) throw new Error(refused[0].detail);
      return `Deep check of ${node} started.`;
    } },
  { id: 'opt-out', label: 'Opt out', shown: ({ view }) => !view.optedOut,
    does: 'Holdfast watches the node and never cordons, drains or repairs it. Running jobs are not touched.', fields: () => [],
    run: async (at, v, { node }) => {
      await ask(at, { method: 'PATCH', body: { optedOut: true } });
      return `${node} is opted out.`;
    } },
  { id: 'opt-in', label: 'End opt-out', shown: ({ view }) => view.optedOut,
    does: 'Holdfast may act on the node again. Open faults are decided on at once, so a repair may start.', fields: () => [],
    run: async (at, v, { node }) => {
      await ask(at, { method: 'PATCH', body: { optedOut: false } });
      return `${node} is not opted out any more.`;
    } },
];

export function actionButtons(ctx, of) {
  const at = `clusters/${segment(of.cluster)}/nodes/${segment(of.node)}`;
  return ACTIONS.filter((a) => a.shown(of)).map((a) => h('button', { type: 'button', key: a.id, onclick: () => confirmOnNode({
    cluster: of.cluster, node: of.node, title: `${a.label} ${of.node}?`, body: h('p', {}, a.does), fields: a.fields(), verb: a.label, danger: a.danger,
    run: async (values) => {
      const said = await a.run(at, values, of);
      ctx.again();
      return said;
    } }) }, a.label));
}

export const operationsOf = (cluster, node) => `operations${query({ cluster, node, limit: 30 })}`;
