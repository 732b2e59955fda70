// All nodes of a cluster, read once in pages and kept by what the timeline says: a few changed nodes are read one by one.
import { ask, pages, query, segment } from './api.js';
import { natural } from './looks.js';

const FEW = 12;
const AGE_MS = 60000;
const fleets = new Map();

class Fleet {
  constructor(cluster) {
    Object.assign(this, { cluster, nodes: new Map(), dirty: new Set(), readAt: 0, tookMs: 0, loaded: false });
  }

  note(event) {
    if (event.node) this.dirty.add(event.node);
    else if (event.cluster === this.cluster) this.stale = true;
  }

  async readAll(each) {
    const started = Date.now();
    this.dirty.clear();
    this.stale = false;
    const read = new Map();
    const group = (items) => {
      items.forEach((node) => read.set(node.name, node));
      if (!this.loaded) {
        this.nodes = read;
        each?.();
      }
    };
    await pages(`clusters/${segment(this.cluster)}/nodes`, { limit: 1000 }, Infinity, group);
    Object.assign(this, { nodes: read, loaded: true, readAt: Date.now(), tookMs: Date.now() - started });
  }

  async readFew() {
    const names = [...this.dirty];
    this.dirty.clear();
    await Promise.all(names.map(async (name) => {
      try {
        this.nodes.set(name, await ask(`clusters/${segment(this.cluster)}/nodes/${segment(name)}`));
      } catch (error) {
        if (error.status === 404) this.nodes.delete(name);
        else throw error;
      }
    }));
  }

  // each: called while the first reading goes on, with what is there already. Returns in how many ms to ask again, where it was too soon to read all.
  async fresh(each) {
    const age = Date.now() - this.readAt;
    const many = this.stale || this.dirty.size > FEW;
    const pause = 4 * this.tookMs;
    if (!this.reading && this.loaded && many && age <= pause) return pause - age + 1;
    if (!this.reading && (!this.loaded || many || age > AGE_MS)) this.reading = this.readAll(each);
    else if (!this.reading && this.dirty.size > 0) this.reading = this.readFew();
    try {
      await this.reading;
    } finally {
      this.reading = undefined;
    }
    return undefined;
  }

  // By name. Sorted once for each reading, as names with numbers are slow to compare.
  list() {
    if (this.sorted?.from !== this.nodes || this.sorted.size !== this.nodes.size) {
      const names = [...this.nodes.keys()].sort(natural);
      this.sorted = { from: this.nodes, size: this.nodes.size, names };
    }
    return this.sorted.names.map((name) => this.nodes.get(name)).filter(Boolean);
  }
}

export function fleet(cluster) {
  if (!fleets.has(cluster)) fleets.set(cluster, new Fleet(cluster));
  return fleets.get(cluster);
}

export function note(event) {
  if (event.cluster) fleets.get(event.cluster)?.note(event);
}

// After a gap of the timeline nothing is known to be as it was.
export function noteGap() {
  for (const one of fleets.values()) one.stale = true;
}

export const forgetFleets = () => fleets.clear();
export const clusterNames = async () => (await ask(`clusters${query({ limit: 1000 })}`)).items.map((c) => c.name);
