// What the documents tell people to type: code blocks and inline commands of README.md, docs/*.md and the manual pages, each with its place.
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './programs.mjs';

const list = (dir, end) => readdirSync(join(root, dir)).filter((name) => end.test(name)).sort().map((name) => `${dir}/${name}`);
export const markdown = ['README.md', ...list('docs', /\.md$/)];
export const pages = list('docs/man', /\.\d$/);
export const read = (file) => readFileSync(join(root, file), 'utf8');

const OURS = /^(hpctl|hpd|hp-agent|hprun|hp-auto-resume)\b/;

// {line, lang, lines}: lang is undefined where the block has none, and for a block that is only indented.
export function markdownBlocks(text) {
  const blocks = [];
  let block;
  text.split('\n').forEach((line, i, all) => {
    const fence = /^ *```(\S*)/.exec(line);
    if (fence && block) block = undefined;
    else if (fence) blocks.push((block = { line: i + 2, lang: fence[1] || undefined, lines: [] }));
    else if (block) block.lines.push(line);
    else if (/^ {4}\S/.test(line) && all[i - 1] === '') blocks.push({ line: i + 1, lang: undefined, lines: [line] });
  });
  return blocks;
}

// The words of mdoc as they are printed.
const printed = (text) => text.replace(/ Ns +/g, '').replace(/ No /g, ' ').replace(/\\e/g, '\\').replace(/\\&/g, '').replace(/\b(?:Ar|Fl|Cm|Ic) /g, '');

export function pageBlocks(text) {
  const blocks = [];
  let block;
  text.split('\n').forEach((line, i) => {
    if (line.startsWith('.Bd -literal')) block = { line: i + 2, lines: [] };
    else if (line === '.Ed' && block) {
      if (block.lines.some((one) => OURS.test(one))) blocks.push({ ...block, lang: 'sh' });
      block = undefined;
    } else if (block) block.lines.push(printed(line));
    else if (/^\.Dl /.test(line) && OURS.test(line.slice(4))) blocks.push({ line: i + 1, lang: 'sh', lines: [printed(line.slice(4))] });
  });
  return blocks;
}

// One entry for what a shell reads at once: a line, with those that go on from it.
export function commands(block) {
  const found = [];
  let open;
  block.lines.forEach((text, i) => {
    if (open) open.text += `\n${text}`;
    else if (/^\s*(#|$)/.test(text)) return;
    else found.push((open = { line: block.line + i, text }));
    const quotes = open.text.replace(/'[^'"]*'/g, '').split('"').length - 1;
    if (!/[\\|]\s*$/.test(open.text) && quotes % 2 === 0) open = undefined;
  });
  return found;
}

export const blocksOf = (file) => (file.endsWith('.md') ? markdownBlocks : pageBlocks)(read(file));

// Our programs' command lines inside a sentence.
export function inline(file) {
  const text = read(file);
  const found = [];
  const take = (line, words) => OURS.test(words) && found.push({ file, line, text: words });
  if (file.endsWith('.md')) {
    let code = false;
    text.split('\n').forEach((line, i) => {
      if (/^ *```/.test(line)) code = !code;
      else if (!code) for (const [, words] of line.matchAll(/`([^`]+)`/g)) take(i + 1, words);
    });
  } else {
    text.split('\n').forEach((line, i) => {
      const [, words] = /^\.(?:P[qo] )?Ql (.*)$/.exec(line) ?? [];
      if (words) take(i + 1, printed(words).replace(/ [.,;:]( .*)?$/, ''));
    });
  }
  return found;
}

// {code, line, said}: commands ({line, text}) in one shell that ends at the first that fails; line is the last one that began.
export function typeIn(lines, cwd, env) {
  const script = ["set -e -o pipefail; trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT", ...lines.map(({ line, text }) => `echo "@@ ${line}"\n${text}`)].join('\n');
  return new Promise((done) => {
    const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const from of [child.stdout, child.stderr]) from.on('data', (data) => (said += data));
    child.on('exit', (code) => done({ code, line: [...said.matchAll(/^@@ (\d+)$/gm)].at(-1)?.[1], said }));
  });
}
