// A cluster made or changed by a form, which shows the file that hpctl would take.
import { ask, segment } from './api.js';
import { schedulerNames } from './connections.js';
import { say } from './dialog.js';
import { clusterPath, h, link, same, theirs } from './dom.js';

const quoted = (value) => /^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(value) ? value : JSON.stringify(value);
const GROUP = ['name', 'instanceCount', 'provider', 'instanceType', 'nodeNames'];

// What an API body says, as the YAML of a cluster file.
export function yaml(spec) {
  const lines = [];
  for (const [key, value] of Object.entries(spec)) {
    if (key === 'instanceGroups') lines.push('instanceGroups:',
      ...value.flatMap((group) => Object.entries(group).map(([k, v], i) => `${i ? '   ' : '  -'} ${k}: ${quoted(`${v}`)}`)));
    else lines.push(`${key}: ${quoted(`${value}`)}`);
  }
  return lines.join('\n');
}

const entered = (ctx) => {
  const { name, scheduler, recovery, groups } = ctx.memory.form;
  return { name, ...(scheduler === 'none' ? { orchestrator: 'none' } : scheduler ? { scheduler } : {}), nodeRecovery: recovery,
    instanceGroups: groups.map((g) => Object.fromEntries(GROUP.filter((k) => g[k] !== '' && g[k] !== undefined).map((k) => [k, k === 'instanceCount' ? Number(g[k]) : g[k]]))) };
};

function field(ctx, of, key, label, attributes = {}) {
  return h('label', {}, label, h('input', { value: of[key] ?? '', autocomplete: 'off', ...attributes, oninput: (event) => {
    theirs(event);
    of[key] = event.target.value.trim();
    ctx.draw();
  } }));
}

const groupFields = (ctx, group, i, form) => h('fieldset', { key: `group-${i}`, class: 'toolbar' }, h('legend', {}, `Group ${i + 1}`),
  field(ctx, group, 'name', 'Name', { required: true }), field(ctx, group, 'instanceCount', 'Nodes', { type: 'number', min: 0, max: 100000, required: true }),
  field(ctx, group, 'provider', 'Provider', { placeholder: 'local, manual, …' }), field(ctx, group, 'instanceType', 'Machine type'),
  field(ctx, group, 'nodeNames', 'Names of the nodes', { placeholder: 'gpu-[1-4]' }),
  form.groups.length > 1 && h('button', { type: 'button', onclick: () => {
    form.groups.splice(i, 1);
    ctx.draw();
  } }, 'Remove'));

async function submit(ctx, dry) {
  const { memory } = ctx;
  memory.problem = undefined;
  try {
    const spec = entered(ctx);
    await ask(`clusters${dry ? '?dryRun=true' : ''}`, { method: 'POST', body: spec });
    if (dry) memory.fits = true;
    else {
      memory.form = undefined;
      say(`${spec.name} is being created.`);
      location.hash = clusterPath(spec.name);
      return;
    }
  } catch (error) {
    Object.assign(memory, { problem: error.message, fits: false });
  }
  ctx.draw();
}

export const create = {
  local: true, role: 'admin', title: () => 'New cluster', wants: () => false,
  load: async () => ({ schedulers: await schedulerNames() }),
  render(ctx, { schedulers }) {
    const form = (ctx.memory.form ??= { name: '', scheduler: schedulers[0] ?? 'none', recovery: 'Automatic', groups: [{ name: 'gpu', instanceCount: '1', provider: '' }] });
    const choose = (key, label, options) => h('label', {}, label, h('select', { onchange: (e) => {
      form[key] = e.target.value;
      ctx.draw();
    } }, options.map(([value, text]) => h('option', { value, selected: value === form[key] }, text))));
    return [h('p', { class: 'crumb', key: 'crumb' }, link('#/', 'Clusters'), ' / new'), h('h1', { key: 'h1' }, 'New cluster'),
      h('form', { key: 'form', class: 'stack', onsubmit: (event) => {
        event.preventDefault();
        submit(ctx, false);
      } }, h('div', { class: 'toolbar' }, field(ctx, form, 'name', 'Name', { required: true }),
        choose('scheduler', 'Scheduler', [...schedulers.map((s) => [s, s]), ['none', 'none']]),
        choose('recovery', 'Automatic repairs', [['Automatic', 'yes'], ['None', 'no: faults are shown, nothing is repaired']])),
      form.groups.map((g, i) => groupFields(ctx, g, i, form)),
      h('div', { class: 'row' }, h('button', { type: 'button', onclick: () => {
        form.groups.push({ name: '', instanceCount: '1' });
        ctx.draw();
      } }, 'Add a group'), h('button', { type: 'button', onclick: () => submit(ctx, true) }, 'Check only'), h('button', { class: 'primary' }, 'Create'))),
      ctx.memory.problem && h('p', { class: 'banner bad', role: 'status', key: 'problem' }, ctx.memory.problem),
        ctx.memory.fits && h('p', { class: 'banner good', role: 'status', key: 'fits' }, 'hpd would take it.'),
      h('section', { key: 'file' }, h('h2', {}, 'The same as a file'), h('pre', { id: 'file', tabindex: 0 }, yaml(entered(ctx)))),
      same('hpctl cluster create -f FILE --wait', 'POST /v1/clusters')];
  },
};

export const edit = {
  local: true, title: ({ names }) => `Change ${names[0]}`, wants: () => false,
  load: ({ names: [name] }) => ask(`clusters/${segment(name)}`),
  render(ctx, view) {
    const form = (ctx.memory.form ??= { nodeRecovery: view.nodeRecovery, counts: Object.fromEntries(view.instanceGroups.map((g) => [g.name, `${g.instanceCount}`])) });
    const groups = view.instanceGroups.filter((g) => form.counts[g.name] !== undefined && Number(form.counts[g.name]) !== g.instanceCount).map((g) => ({ name: g.name, instanceCount: Number(form.counts[g.name]) }));
    const change = { ...(form.nodeRecovery !== view.nodeRecovery ? { nodeRecovery: form.nodeRecovery } : {}), ...(groups.length ? { instanceGroups: groups } : {}) };
    const nothing = Object.keys(change).length === 0;
    const send = async (event) => {
      event.preventDefault();
      try {
        await ask(`clusters/${segment(view.name)}`, { method: 'PATCH', body: change });
        ctx.memory.form = undefined;
        say(`${view.name} is being changed.`);
        location.hash = clusterPath(view.name);
      } catch (error) {
        ctx.memory.problem = error.message;
        ctx.draw();
      }
    };
    const fewer = groups.filter((g) => g.instanceCount < view.instanceGroups.find((v) => v.name === g.name).instanceCount);
    return [h('p', { class: 'crumb', key: 'crumb' }, link('#/', 'Clusters'), ' / ', link(clusterPath(view.name), view.name), ' / change'),
      h('h1', { key: 'h1' }, `Change ${view.name}`),
      !ctx.may('operator') && h('p', { class: 'banner', key: 'role' }, 'Your role may read only.'),
      h('form', { key: 'form', class: 'stack', onsubmit: send }, h('div', { class: 'toolbar' }, h('label', {}, 'Automatic repairs', h('select', { onchange: (e) => {
        form.nodeRecovery = e.target.value;
        ctx.draw();
      } }, [['Automatic', 'yes'], ['None', 'no: broken nodes are only cordoned']].map(([value, text]) => h('option', { value, selected: value === form.nodeRecovery }, text)))),
      view.instanceGroups.map((g) => h('label', { key: g.name }, `Nodes of ${g.name}`,
        h('input', { type: 'number', min: 0, max: 100000, required: true, value: form.counts[g.name], oninput: (e) => {
        theirs(e);
        form.counts[g.name] = e.target.value;
        ctx.draw();
      } })))),
      fewer.length > 0 && h('p', { class: 'banner warn' },
        `Fewer nodes in ${fewer.map((g) => g.name).join(', ')}: the nodes that are least missed leave when their jobs have ended.`),
      ctx.memory.problem && h('p', { class: 'banner bad', role: 'status' }, ctx.memory.problem),
      ctx.may('operator') && h('div', { class: 'row' }, h('button', { class: 'primary', disabled: nothing }, 'Change'))),
      h('section', { key: 'file' }, h('h2', {}, 'The change'), h('pre', { id: 'file', tabindex: 0 }, nothing ? '# nothing yet' : yaml(change))),
      same(`hpctl cluster export ${view.name}   # edit, then hpctl apply -f FILE`, `PATCH /v1/clusters/${view.name}`)];
  },
};
