// Who may call hpd: API tokens, and access keys of the AWS API. A secret is shown once, when it is made.
import { ask, maybe, post, segment } from './api.js';
import { confirm } from './dialog.js';
import { copy, facts, h, same, table } from './dom.js';
import { ago, when } from './format.js';
import { badge } from './looks.js';

const ROLES = ['viewer', 'operator', 'admin', 'job', 'reporter'];

function showSecret(title, rows) {
  const dialog = h('dialog', { class: 'ask', 'aria-label': title }, h('h2', {}, title), h('p', {}, 'The secret is shown once. Copy it now.'),
    facts(rows.map(([name, value]) => [name,
      value && [h('code', {}, value), ' ',
      h('button', { type: 'button', class: 'plain', 'aria-label': `Copy ${name}`, onclick: (e) => copy(value, e.target) }, 'copy')]])),
    h('div', { class: 'row end' }, h('button', { type: 'button', class: 'primary', onclick: () => dialog.close() }, 'Done')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const who = () => [h('label', {}, 'Name',
  h('input', { name: 'name', required: true, maxlength: 63, pattern: '[a-zA-Z0-9][a-zA-Z0-9\\-]*', autocomplete: 'off' })),
  h('label', {}, 'Role', h('select', { name: 'role' }, ROLES.map((r) => h('option', { value: r }, r))))];

const newToken = (ctx) => confirm({ title: 'Create a token', verb: 'Create',
  body: h('p', {}, 'A viewer reads. An operator also repairs and approves. An admin also changes clusters, policies and access. A job asks about its own nodes. A reporter says what it suspects of nodes.'),
  fields: [...who(), h('label', {}, 'Lives for', h('input', { name: 'ttl', value: '90d', pattern: '[0-9]+(ms|s|m|h|d)', title: 'A number and ms, s, m, h or d, such as 90d' }))],
  run: async ({ name, role, ttl }) => {
    const made = await post('tokens', { kind: 'api', name, role, ...(ttl ? { ttl } : {}) });
    ctx.again();
    showSecret(`Token ${name}`, [['Secret', made.secret], ['Server', made.serverUrl], ['Fingerprint', made.fingerprint]]);
  } });

const newKey = (ctx) => confirm({ title: 'Create an access key', verb: 'Create', body: h('p', {}, 'For the AWS SDK and CLI. They sign requests with it.'), fields: who(),
  run: async ({ name, role }) => {
    const made = await post('access-keys', { name, role });
    ctx.again();
    showSecret(`Access key ${name}`, [['Access key id', made.accessKeyId], ['Secret access key', made.secretAccessKey], ['Endpoint', made.endpoint]]);
  } });

const remove = (ctx, what, name, at) => h('button',
  { type: 'button', onclick: () => confirm({ title: `Delete ${what} ${name}?`, verb: 'Delete', danger: true,
  body: h('p', {}, 'A request with it is refused at once. It cannot be brought back.'), run: async () => {
  await ask(at, { method: 'DELETE' });
  ctx.again();
  return `${what} ${name} is deleted.`;
} }) }, 'Delete');

export const access = {
  role: 'admin',
  title: () => 'Access',
  wants: () => false,
  async load() {
    const [tokens, keys] = await Promise.all([ask('tokens'), maybe(ask('access-keys'))]);
    return { tokens: tokens.items, keys: keys.items };
  },
  render: (ctx, { tokens, keys }) => [
    h('h1', { key: 'h1' }, 'Access'),
    h('section', { key: 'tokens' }, h('div', { class: 'page-head' }, h('h2', {}, 'Tokens'), h('button', { type: 'button', onclick: () => newToken(ctx) }, 'Create a token')),
      table([['Name', (t) => t.name ?? [t.cluster, t.node].filter(Boolean).join(' / ')], ['Kind', (t) => t.kind],
        ['Role', (t) => t.role && badge(t.role, 'plain')], ['Created', (t) => ago(t.createdAt)], ['Used', (t) => ago(t.usedAt) ?? 'never'],
        ['Expires', (t) => when(t.expiresAt) ?? 'never'], ['', (t) => remove(ctx, 'token', t.name ?? t.id, `tokens/${segment(t.id)}`)]], tokens,
        { key: (t) => t.id, nothing: 'No token.' })),
    h('section', { key: 'keys' }, h('div', { class: 'page-head' }, h('h2', {}, 'Access keys'), h('button', { type: 'button', onclick: () => newKey(ctx) }, 'Create an access key')),
      table([['Name', (k) => k.name], ['Id', (k) => h('code', {}, k.accessKeyId)], ['Role', (k) => badge(k.role, 'plain')],
        ['Created', (k) => ago(k.createdAt)], ['Used', (k) => ago(k.usedAt) ?? 'never'],
        ['', (k) => remove(ctx, 'access key', k.name, `access-keys/${segment(k.accessKeyId)}`)]], keys,
        { key: (k) => k.accessKeyId, nothing: 'No access key. The AWS SDK and CLI need one.' })),
    same('hpctl token list', 'GET /v1/tokens'),
  ],
};
