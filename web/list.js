// A list: filters that stand in the address, pages that grow, and words where there is nothing.
import { ask, pages, query } from './api.js';
import { h, same, table } from './dom.js';
import { clusterNames } from './fleet.js';

const ROWS = 100;
const SOUGHT = 1000; // rows that are looked through for a filter which hpd's list does not have

function field(ctx, clusters, { name, label, options, text, placeholder, first }) {
  const now = ctx.query[name] ?? '';
  if (text) return h('label', { key: name }, label, h('input', { type: 'search', value: now, placeholder, oninput: (e) => ctx.set({ [name]: e.target.value.trim() }) }));
  const words = options === 'clusters' ? clusters : options;
  if (options === 'clusters' && words.length < 2) return undefined;
  return h('label', { key: name }, label,
    h('select', { onchange: (e) => ctx.set({ [name]: e.target.value }) }, !first && h('option', { value: '' }, 'all'),
    words.map((w) => h('option', { value: w, selected: w === now }, w))));
}

/*
 * spec: title, path(ctx, clusters) of the list, filters [{name, label, options | text, local | ask(value)}], columns, key, nothing, hpctl(query), wants, intro, body(rows) in
 * place of the table, buttons(ctx), whole for a list without pages. A filter that is local is applied here, to the rows that were read.
 */
export function listView(spec) {
  const asked = (ctx) => Object.assign({},
    ...spec.filters.filter((f) => !f.local && ctx.query[f.name]).map((f) => (f.ask ? f.ask(ctx.query[f.name]) : { [f.name]: ctx.query[f.name] })));
  const locals = spec.filters.filter((f) => f.local);
  const fits = (ctx) => (row) => locals.every((f) => !ctx.query[f.name] || f.fits(row, ctx.query[f.name]));
  return {
    role: spec.role,
    title: () => spec.title,
    wants: spec.wants,
    async load(ctx) {
      const sought = locals.some((f) => !f.first && ctx.query[f.name]);
      const size = Math.max(ctx.memory.rows ?? ROWS, sought ? SOUGHT : 0);
      if (spec.whole) return { clusters: [], items: (await ask(spec.path(ctx))).items };
      const clusters = await clusterNames();
      const path = spec.path(ctx, clusters);
      const { items, more } = path ? await pages(path, { ...asked(ctx), limit: Math.min(size, 500) }, size) : { items: [] };
      return { clusters, items, more };
    },
    render(ctx, { clusters, items, more }) {
      const rows = items.filter(fits(ctx));
      const filtered = spec.filters.some((f) => !f.first && ctx.query[f.name]);
      const given = query(asked(ctx));
      return [
        h('div', { class: 'page-head', key: 'head' }, h('h1', {}, spec.title), h('div', { class: 'row' }, spec.buttons?.(ctx, items))),
        spec.intro && h('p', { class: 'quiet', key: 'intro' }, spec.intro),
        spec.filters.length > 0 && h('div', { class: 'toolbar', key: 'filters' }, spec.filters.map((f) => field(ctx, clusters, f))),
        rows.length === 0 && h('div', { class: 'empty', key: 'none' },
          filtered ? h('p', {}, 'Nothing matches these filters. ', h('a', { href: `#${location.hash.slice(1).split('?')[0]}` }, 'Show all')) : spec.nothing),
        rows.length > 0 && h('div', { key: 'rows' }, spec.body ? spec.body(rows, ctx) : table(spec.columns(ctx, clusters), rows, { key: spec.key })),
        more && h('button', { type: 'button', key: 'more', onclick: () => {
          ctx.memory.rows = (ctx.memory.rows ?? ROWS) + 400;
          ctx.again();
        } }, 'Show more'),
        same(spec.hpctl(ctx.query, clusters), `GET /v1/${spec.path(ctx, clusters) ?? ''}${given}`),
      ];
    },
  };
}

export const hasWords = (...fields) => (row, words) => words.toLowerCase().split(/\s+/).every((w) => fields.some((f) => `${row[f] ?? ''}`.toLowerCase().includes(w)));
export const option = (name, value) => (value ? ` --${name} ${value}` : '');
