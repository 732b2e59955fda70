// Two texts, line by line: what was taken out and what was put in (the longest common subsequence).
import { h } from './dom.js';

const LINES = 1500; // longer texts are shown as taken out and put in as a whole

function common(a, b) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  return lengths;
}

export function lines(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length > LINES || b.length > LINES) return [...a.map((text) => ['-', text]), ...b.map((text) => ['+', text])];
  const lengths = common(a, b);
  const out = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push([' ', a[i++], j++]);
    else if (j < b.length && (i === a.length || lengths[i][j + 1] > lengths[i + 1][j])) out.push(['+', b[j++]]);
    else out.push(['-', a[i++]]);
  }
  return out;
}

const STYLE = { '+': 'plus', '-': 'minus' };
export const diffView = (before, after) => before === after ? h('p', { class: 'quiet' }, 'The texts are the same.')
  : h('pre', { class: 'diff', tabindex: 0 }, lines(before, after).map(([mark, text]) => h('div', { class: STYLE[mark] }, `${mark} ${text}`)));
