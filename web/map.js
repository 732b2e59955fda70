/*
 * The fleet map: every node a cell, by what the nodes share, what is wrong first. One canvas of the visible part is drawn again while one
 * scrolls, so that 10,000 nodes cost no more than a screen of them. Colour never stands alone: each look that is not well has a shape.
 */
import { h } from './dom.js';
import { plural } from './format.js';
import { LOOKS, lookOf, natural, rank } from './looks.js';

const GAP = 2;
const HEAD = 26;
const NAMED_MAX = 160;
const TONES = ['good', 'bad', 'warn', 'note', 'work', 'quiet', 'text', 'ground', 'raised'];

export const BY = { group: 'group', rack: 'rack', switch: 'switch', ultraserver: 'UltraServer', chassis: 'chassis', powerDomain: 'power domain', zone: 'zone', state: 'state' };
const placeOf = (node, by) => by === 'state' ? LOOKS[lookOf(node)].label : (node[by] ?? `no ${BY[by]}`);

// Sections with their nodes, which come with the worst first, and the section with the worst node first.
export function sections(nodes, by) {
  const found = new Map();
  for (const node of nodes) {
    const place = placeOf(node, by);
    if (!found.has(place)) found.set(place, []);
    found.get(place).push(node);
  }
  const all = [...found].map(([name, items]) => ({ name, nodes: items, wrong: items.filter((n) => lookOf(n) !== 'ok').length, worst: rank(items[0]) }));
  return all.sort((a, b) => a.worst - b.worst || b.wrong - a.wrong || natural(a.name, b.name));
}

export class FleetMap {
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.spoken = h('p', { class: 'spoken', role: 'status' });
    this.probe = h('span', { hidden: true }, TONES.map((tone) => h('i', { class: `tone-${tone}` })));
    this.field = h('div', { class: 'field', tabindex: 0, role: 'application', 'aria-roledescription': 'fleet map' }, this.canvas, this.tip);
    this.root = h('div', { class: 'map' }, this.field, this.spoken, this.probe);
    this.at = -1;
    this.cells = [];
    this.listen();
  }

  listen() {
    const again = () => {
      if (this.waits) return;
      this.waits = true;
      requestAnimationFrame(() => {
        this.waits = false;
        this.draw();
      });
    };
    addEventListener('scroll', again, { passive: true });
    new ResizeObserver(() => this.field.clientWidth !== this.width && this.place()).observe(this.field);
    this.field.addEventListener('pointermove', (event) => this.point(this.under(event)));
    this.field.addEventListener('pointerleave', () => this.point(-1));
    this.field.addEventListener('click', (event) => this.open(this.under(event)));
    this.field.addEventListener('keydown', (event) => this.key(event));
    this.field.addEventListener('blur', () => this.point(-1));
  }

  colours() {
    this.tones = Object.fromEntries(TONES.map((tone, i) => [tone, getComputedStyle(this.probe.children[i]).color]));
  }

  show(nodes, by) {
    const focus = this.cells[this.at]?.node.name;
    this.nodes = nodes;
    this.by = by;
    this.place();
    if (focus) this.at = this.cells.findIndex((cell) => cell.node.name === focus);
  }

  // Where each cell lies.
  place() {
    if (!this.nodes || !this.field.isConnected) return;
    const width = this.field.clientWidth;
    const count = this.nodes.length;
    const named = count <= NAMED_MAX;
    const columns = named ? Math.max(1, Math.floor(width / 104)) : Math.floor(width / ((count <= 2000 ? 18 : 13) + GAP));
    const w = named ? (width - GAP * (columns - 1)) / columns : count <= 2000 ? 18 : 13;
    const tall = named ? 36 : w;
    Object.assign(this, { width, named, columns, cells: [], heads: [] });
    let y = 0;
    for (const section of sections(this.nodes, this.by)) {
      const tail = section.wrong ? `${section.wrong} of ${section.nodes.length} not well` : `${section.nodes.length}`;
      this.heads.push({ y, text: section.name, tail });
      y += HEAD;
      section.nodes.forEach((node, i) => this.cells.push({ node, x: (i % columns) * (w + GAP), y: y + Math.floor(i / columns) * (tall + GAP), w, h: tall }));
      y += Math.ceil(section.nodes.length / columns) * (tall + GAP) + 8;
    }
    this.height = Math.max(y, 8);
    this.field.style.height = `${this.height}px`;
    const wrong = this.nodes.filter((n) => lookOf(n) !== 'ok').length;
    this.field.setAttribute('aria-label', `Fleet map: ${plural(count, 'node')}, ${wrong} not well. Arrow keys move, Enter opens the node. The table below has the same.`);
    if (!this.tones) this.colours();
    this.draw();
  }

  themed() {
    this.colours();
    this.draw();
  }

  draw() {
    if (!this.field.isConnected || !this.tones) return;
    const box = this.field.getBoundingClientRect();
    const top = Math.max(0, -box.top - 100);
    const bottom = Math.min(this.height, innerHeight - box.top + 100);
    if (bottom <= top) return;
    const ratio = devicePixelRatio || 1;
    const tall = bottom - top;
    Object.assign(this.canvas, { width: Math.round(this.width * ratio), height: Math.round(tall * ratio) });
    Object.assign(this.canvas.style, { top: `${top}px`, width: `${this.width}px`, height: `${tall}px` });
    const pen = this.canvas.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
    pen.textBaseline = 'middle';
    for (const head of this.heads) if (head.y + HEAD > top && head.y < bottom) this.drawHead(pen, head);
    for (let i = this.first(top); i < this.cells.length && this.cells[i].y < bottom; i++) this.drawCell(pen, this.cells[i], i === this.at);
  }

  // The first cell whose row may be seen; cells lie in the order of y.
  first(top) {
    let [low, high] = [0, this.cells.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.cells[middle].y + this.cells[middle].h < top) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  drawHead(pen, { y, text, tail }) {
    pen.font = '600 13px system-ui, sans-serif';
    pen.textAlign = 'left';
    pen.fillStyle = this.tones.text;
    pen.fillText(text, 0, y + HEAD / 2);
    const after = pen.measureText(text).width + 10;
    pen.font = '13px system-ui, sans-serif';
    pen.fillStyle = this.tones.quiet;
    pen.fillText(tail, after, y + HEAD / 2);
  }

  drawCell(pen, { node, x, y, w, h: tall }, chosen) {
    const look = lookOf(node);
    const { tone, glyph, label } = LOOKS[look];
    const colour = this.tones[tone];
    pen.fillStyle = colour;
    pen.globalAlpha = look === 'ok' ? (this.named ? 0.16 : 0.55) : this.named ? 0.22 : 1;
    if (this.named || look !== 'coming') pen.fillRect(x, y, w, tall);
    pen.globalAlpha = 1;
    if (this.named) {
      pen.fillRect(x, y, 4, tall);
      pen.textAlign = 'left';
      pen.fillStyle = this.tones.text;
      pen.font = '600 13px system-ui, sans-serif';
      pen.fillText(this.cut(pen, node.name, w - (glyph ? 30 : 16)), x + 10, y + 12);
      pen.font = '11px system-ui, sans-serif';
      pen.fillStyle = this.tones.quiet;
      pen.fillText(this.cut(pen, label, w - 16), x + 10, y + 27);
    } else if (look === 'coming') {
      pen.strokeStyle = colour;
      pen.lineWidth = 1.5;
      pen.strokeRect(x + 1, y + 1, w - 2, tall - 2);
    }
    if (glyph) {
      pen.font = `700 ${this.named ? 14 : Math.round(w * 0.8)}px system-ui, sans-serif`;
      pen.textAlign = 'center';
      pen.fillStyle = this.named || look === 'coming' ? colour : this.tones.ground;
      pen.fillText(glyph, this.named ? x + w - 13 : x + w / 2, y + (this.named ? 13 : tall / 2 + 1));
    }
    if (chosen) {
      pen.strokeStyle = this.tones.text;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, w + 2, tall + 2);
    }
  }

  cut(pen, text, room) {
    if (pen.measureText(text).width <= room) return text;
    let end = text.length;
    while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > room) end--;
    return `${text.slice(0, end)}…`;
  }

  under(event) {
    const box = this.field.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (let i = this.first(y - 40); i < this.cells.length && this.cells[i].y <= y; i++) {
      const cell = this.cells[i];
      if (x >= cell.x && x <= cell.x + cell.w && y >= cell.y && y <= cell.y + cell.h) return i;
    }
    return -1;
  }

  point(i, speak) {
    if (i === this.at) return;
    this.at = i;
    const cell = this.cells[i];
    this.tip.hidden = !cell;
    this.field.classList.toggle('on', Boolean(cell));
    if (cell) {
      const { node } = cell;
      const text = `${node.name}: ${LOOKS[lookOf(node)].label}${node.reason ? `. ${node.reason}` : ''}`;
      this.tip.textContent = text;
      if (speak) this.spoken.textContent = text;
      this.tip.style.top = `${cell.y + cell.h + 6}px`;
      this.tip.style.left = `${Math.max(0, Math.min(cell.x, this.width - 260))}px`;
    }
    this.draw();
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }[event.key];
    if (event.key === 'Enter') this.open(this.at);
    if (event.key === 'Escape') this.point(-1);
    if (!step || this.cells.length === 0) return;
    event.preventDefault();
    const to = this.at < 0 ? 0 : Math.max(0, Math.min(this.cells.length - 1, this.at + step));
    this.point(to, true);
    const box = this.field.getBoundingClientRect();
    const y = box.top + this.cells[to].y;
    if (y < 80 || y > innerHeight - 80) scrollBy(0, y - innerHeight / 2);
  }

  open(i) {
    if (this.cells[i]) this.onOpen(this.cells[i].node);
  }
}
