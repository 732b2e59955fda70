// Repairs that wait for a person's word.
import { ask, segment } from './api.js';
import { ago, h, table } from './dom.js';

// memory: what hpd said to the last answer, and what is being typed stays when the list is read again.
export async function approvals(memory) {
  const { items } = await ask('approvals?state=asked');
  const answer = (id, verb) => async () => {
    try {
      const done = await ask(`operations/${segment(id)}/${verb}`, { method: 'POST', body: memory.reason?.[id] ? { reason: memory.reason[id] } : {} });
      memory.said = `${done.node}: ${done.action} ${done.state}${done.waitsFor ? `. It waits: ${done.waitsFor}` : ''}`;
    } catch (error) {
      memory.said = error.message;
    }
    memory.again();
  };
  const buttons = (a) => h('form', { onsubmit: (event) => event.preventDefault() },
    h('input', { 'aria-label': `Why, for ${a.node}`, placeholder: 'why (may be empty)', value: memory.reason?.[a.id] ?? '',
      oninput: (event) => (memory.reason = { ...memory.reason, [a.id]: event.target.value }) }),
    h('button', { type: 'button', onclick: answer(a.id, 'approve') }, 'Approve'), h('button', { type: 'button', onclick: answer(a.id, 'reject') }, 'Reject'));
  return [
    h('h1', {}, 'Approvals'),
    memory.said && h('p', { role: 'status', class: 'banner' }, memory.said),
    table([['Node', (a) => a.node], ['What', (a) => a.action], ['Why', (a) => a.sentence], ['Asked', (a) => ago(a.askedAt)], ['Until', (a) => a.expiresAt], ['', buttons]], items, 'Nothing waits for an approval.'),
  ];
}
