// A question before something is done: what it does, to which jobs, and one button that does it.
import { flat, h, patch } from './dom.js';
import { duration, plural } from './format.js';
import { pages, segment } from './api.js';
import { hosts } from './hosts.js';

// run(values) does it and returns what is said then; values are those of the fields by name.
export function confirm({ title, body, fields = [], verb, danger, run }) {
  const error = h('p', { role: 'alert', class: 'bad', hidden: true });
  const go = h('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, verb);
  const dialog = h('dialog', { class: 'ask', 'aria-labelledby': 'ask-title' }, h('form', { onsubmit: async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      const said = await run(Object.fromEntries(new FormData(event.target)));
      dialog.close();
      if (said) say(said);
    } catch (refused) {
      error.textContent = refused.message;
      error.hidden = false;
      go.disabled = false;
    }
  } }, h('h2', { id: 'ask-title' }, title), flat(body), fields, error,
  h('div', { class: 'row end' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), go)));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

let hide;
export function say(text) {
  const said = document.getElementById('said');
  said.textContent = text;
  said.hidden = false;
  clearTimeout(hide);
  hide = setTimeout(() => (said.hidden = true), 8000);
}

export const reasonField = (label = 'Reason (optional)') => h('label', {}, label, h('input', { name: 'reason', maxlength: 191, autocomplete: 'off' }));

// The jobs that run on each of some nodes of a cluster now: Map of node to jobs, or why that is not known.
export async function jobsOn(cluster) {
  try {
    const { items } = await pages(`clusters/${segment(cluster)}/jobs`, { limit: 1000 });
    const on = new Map();
    for (const job of items.filter((j) => /^(RUNNING|RESIZING|SUSPENDED|COMPLETING|CONFIGURING)/.test(j.state)))
      for (const node of hosts(job.nodes)) on.set(node, [...(on.get(node) ?? []), job]);
    return { on };
  } catch (error) {
    if (error.status === 401) throw error;
    return { on: new Map(), unknown: error.message };
  }
}

const running = (job) => job.startedAt ? `, running for ${duration(Date.now() - Date.parse(job.startedAt))}` : '';
export const jobLine = (job) => `Job ${job.id}${job.name ? ` ${job.name}` : ''}${job.user ? ` of ${job.user}` : ''}: ${plural(job.nodeCount, 'node')}${running(job)}`;

// Jobs hit, as a list of lines.
export function jobsHit({ on, unknown }, node) {
  if (unknown) return h('p', { class: 'jobs warn' }, `Running jobs are not known: ${unknown}`);
  const jobs = on.get(node) ?? [];
  if (jobs.length === 0) return h('p', { class: 'jobs' }, 'No job runs on it now.');
  return h('div', { class: 'jobs' }, h('p', {}, h('strong', {}, `${plural(jobs.length, 'job')} on it now:`)), h('ul', {}, jobs.map((job) => h('li', {}, jobLine(job)))));
}

// A confirmation that says which jobs are hit as soon as that is known.
export function confirmOnNode({ cluster, node, body, ...rest }) {
  const jobs = h('div', { class: 'jobs' }, 'Reading the running jobs …');
  const dialog = confirm({ ...rest, body: [body, jobs] });
  jobsOn(cluster).then((known) => patch(jobs, [jobsHit(known, node)]), () => {});
  return dialog;
}
