// The console: which page the address names, signing in, and reading the page again while somebody looks at it.
import { ask, forgetToken, keepToken, token } from './api.js';
import { approvals } from './approvals.js';
import { cluster, overview } from './cluster.js';
import { h } from './dom.js';
import { events } from './events.js';
import { node } from './node.js';

const AGAIN_MS = 5000;
const main = document.getElementById('main');
const trouble = document.getElementById('trouble');
const signOut = document.getElementById('sign-out');
const waiting = document.getElementById('waiting');
let turn = 0; // counts pages: what comes back for an older one is dropped
let memory = {};
let timer;

const pages = [
  [/^#?\/?$/, () => overview(), 'Clusters'],
  [/^#\/approvals$/, () => approvals(memory), 'Approvals'],
  [/^#\/events$/, () => events(), 'Events'],
  [/^#\/clusters\/([^/]+)$/, (name) => cluster(name, memory), (name) => name],
  [/^#\/clusters\/([^/]+)\/nodes\/([^/]+)$/, (name, of) => node(name, of), (name, of) => `${of} in ${name}`],
];

function complain(text) {
  if (trouble.textContent !== text) trouble.textContent = text;
  trouble.hidden = text === '';
}

function signIn(why) {
  clearTimeout(timer);
  signOut.hidden = true;
  waiting.textContent = '';
  complain(why);
  const input = h('input', { id: 'token', type: 'password', autocomplete: 'off', required: true });
  main.replaceChildren(h('h1', {}, 'Sign in'), h('form', { onsubmit: (event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    open();
  } }, h('label', { for: 'token' }, 'API token', input), h('button', {}, 'Sign in')),
  h('p', { class: 'quiet' }, 'hpctl token create --role viewer makes one; --role operator may answer questions. The first is in admin.token of hpd\'s state directory. It is kept for this tab only.'));
  input.focus();
}

const flatten = (parts) => parts.flat(Infinity).filter((part) => part);
const typing = () => main.contains(document.activeElement) && ['INPUT', 'SELECT', 'BUTTON'].includes(document.activeElement.tagName);

async function show(fresh) {
  const mine = ++turn;
  clearTimeout(timer);
  if (!token()) return signIn('');
  const hash = location.hash || '#/';
  const found = pages.map(([pattern, make, title]) => [pattern.exec(hash), make, title]).find(([match]) => match);
  try {
    if (!found) throw new Error('There is no such page.');
    const [match, make, title] = found;
    const names = match.slice(1).map(decodeURIComponent);
    if (fresh === true) main.replaceChildren(h('p', { class: 'quiet' }, 'Reading …'));
    const parts = flatten(await make(...names));
    if (mine !== turn) return undefined;
    const openDetails = [...main.querySelectorAll('details')].map((d) => d.open);
    if (fresh || !typing()) main.replaceChildren(...parts);
    [...main.querySelectorAll('details')].forEach((d, i) => (d.open = !fresh && openDetails[i]));
    document.title = `${typeof title === 'string' ? title : title(...names)} – Holdfast`;
    signOut.hidden = false;
    complain('');
    if (fresh === true) main.focus();
    const { items } = await ask('approvals?state=asked&limit=100');
    waiting.textContent = items.length ? `(${items.length})` : '';
  } catch (error) {
    if (mine !== turn) return undefined;
    if (error.status === 401) {
      forgetToken();
      return signIn('That token is not valid, or not any more.');
    }
    if (fresh === true) main.replaceChildren(h('h1', {}, 'This cannot be shown'), h('p', {}, h('a', { href: '#/' }, 'All clusters')));
    complain(error.message);
  }
  timer = setTimeout(() => (document.hidden ? undefined : show(false)), AGAIN_MS);
  return undefined;
}

function open() {
  memory = { again: () => show('kept') };
  show(true);
}

addEventListener('hashchange', open);
document.addEventListener('visibilitychange', () => !document.hidden && token() && show(false));
signOut.addEventListener('click', () => {
  forgetToken();
  turn++;
  signIn('');
});
open();
