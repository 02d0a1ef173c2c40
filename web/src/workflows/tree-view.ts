import { stateFromWire } from './node-state.ts';
import type { NodeState } from './node-state.ts';
import type { TreeStore } from './tree-store.ts';

/** Nodes on screen at most, whatever is opened: what a browser draws and scrolls without a stutter. */
export const DRAWN_MAX = 2000;
/** Children of one container on screen at a time; the others are a page further. */
export const PAGE_SIZE = 100;
/** Containers open by themselves down to this depth below the one in view, where they have no more children than this. */
const AUTO_DEPTH = 4;
const AUTO_CHILDREN = 40;
/** A node that is revealed stands no deeper than this below the container in view: each level takes some width. */
const REVEAL_DEPTH = 6;

/** What one container shows of its children. */
export interface Group {
  readonly open: boolean;
  /** It would be open, but the screen is full. */
  readonly held: boolean;
  /** Some of this page is on its way. */
  readonly loading: boolean;
  readonly ids: readonly string[];
  /** Where the page begins, among `total` children that fit the filter. */
  readonly from: number;
  readonly total: number;
  readonly filter: NodeState | null;
}

const CLOSED: Group = { open: false, held: false, loading: false, ids: [], from: 0, total: 0, filter: null };
const HELD: Group = { ...CLOSED, held: true };

/** Which part of a tree is on screen: the container in view, what is open below it, the page of each, what is chosen. */
export class TreeView {
  private readonly store: TreeStore;
  private readonly loadPage: (container: string, from: number) => void;
  private groups = new Map<string, Group>();
  private readonly choices = new Map<string, boolean>();
  private readonly pages = new Map<string, number>();
  private readonly filters = new Map<string, NodeState>();
  private readonly listeners = new Set<() => void>();
  private focusId: string | null = null;
  selected: string | null = null;
  /** The node that has the keyboard's focus when the tree is entered. */
  active: string | null = null;
  /** Nodes on screen. */
  drawn = 0;

  /** `loadPage` brings children that the tree as read leaves out, from a place on, into the store. */
  constructor(store: TreeStore, loadPage: (container: string, from: number) => void) {
    this.store = store;
    this.loadPage = loadPage;
  }

  /** Follows the store until the answer is called; the groups change with it. */
  attach(): () => void {
    this.lay();
    return this.store.subscribe((structure) => {
      if (structure || this.filters.size > 0) this.lay();
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The container that fills the screen. */
  get focus(): string | null {
    const id = this.focusId;
    return id !== null && this.store.nodes.get(id)?.type === 'container' ? id : this.store.rootId;
  }

  group(id: string): Group {
    return this.groups.get(id) ?? CLOSED;
  }

  select(id: string | null): void {
    this.selected = id;
    if (id !== null) this.active = id;
    this.tell();
  }

  activate(id: string): void {
    if (this.active === id) return;
    this.active = id;
    this.tell();
  }

  setOpen(id: string, open: boolean): void {
    this.choices.set(id, open);
    this.lay();
  }

  toggle(id: string): void {
    this.setOpen(id, !this.group(id).open);
  }

  /** Puts a container in view by itself; a task stands for the container around it. */
  zoomTo(id: string | null): void {
    const node = id === null ? undefined : this.store.nodes.get(id);
    this.focusId = node?.type === 'task' ? node.parent : id;
    this.active = id;
    this.lay();
  }

  /** One level up. */
  zoomOut(): void {
    const from = this.focus;
    if (from === null || from === this.store.rootId) return;
    this.zoomTo(this.store.nodes.get(from)?.parent ?? null);
    this.active = from;
    this.tell();
  }

  turnPage(id: string, pages: number): void {
    const { from, total } = this.group(id);
    const last = Math.max(0, Math.ceil(total / PAGE_SIZE) - 1);
    const page = Math.min(last, Math.max(0, Math.round(from / PAGE_SIZE) + pages));
    this.pages.set(id, page * PAGE_SIZE);
    this.choices.set(id, true);
    this.lay();
  }

  /** Shows only the children in one state, and opens the container for it; the same state again shows all. */
  setFilter(id: string, state: string): void {
    const wanted = stateFromWire(state);
    if (this.filters.get(id) === wanted) this.filters.delete(id);
    else this.filters.set(id, wanted);
    this.pages.delete(id);
    this.choices.set(id, true);
    this.lay();
  }

  clearFilter(id: string): void {
    this.filters.delete(id);
    this.pages.delete(id);
    this.lay();
  }

  /** Chooses a node and opens, pages and zooms so that it is on screen. */
  reveal(id: string): void {
    if (!this.store.nodes.has(id)) return;
    const path = this.store.ancestors(id);
    const inView = this.focus === null ? -1 : path.indexOf(this.focus);
    const depth = inView === -1 ? path.length : path.length - inView;
    if (inView === -1 || depth > REVEAL_DEPTH) this.focusId = path.at(-Math.min(path.length, REVEAL_DEPTH / 2)) ?? null;
    const below = path.slice(Math.max(0, path.indexOf(this.focus ?? '')));
    for (const [i, container] of below.entries()) {
      const child = below[i + 1] ?? id;
      this.choices.set(container, true);
      this.filters.delete(container);
      const place = this.store.childrenOf(container).indexOf(child);
      if (place !== -1) this.pages.set(container, PAGE_SIZE * Math.floor(place / PAGE_SIZE));
    }
    this.selected = id;
    this.active = id;
    this.lay();
    const parent = path.at(-1);
    if (parent !== undefined && !this.group(parent).ids.includes(id)) this.zoomTo(parent);
  }

  /** Decides anew what is on screen; what the reader opened comes before what opens by itself. */
  private lay(): void {
    const groups = new Map<string, Group>();
    const focus = this.focus;
    this.drawn = focus === null ? 0 : 1;
    const wanted: { id: string; depth: number }[] = focus === null ? [] : [{ id: focus, depth: 0 }];
    const others: { id: string; depth: number }[] = [];
    for (let next = wanted.shift(); next !== undefined; next = wanted.shift() ?? others.shift()) {
      const { id, depth } = next;
      const group = this.windowOf(id, id === focus || this.wants(id, depth));
      groups.set(id, this.kept(id, group));
      this.drawn += group.ids.length;
      for (const child of group.ids) {
        if (this.store.nodes.get(child)?.type !== 'container') continue;
        (this.choices.get(child) === true ? wanted : others).push({ id: child, depth: depth + 1 });
      }
    }
    this.groups = groups;
    this.store.keepPages(new Set([...groups.keys()].filter((id) => groups.get(id)!.open)));
    this.tell();
  }

  private wants(id: string, depth: number): boolean {
    const choice = this.choices.get(id);
    if (choice !== undefined) return choice;
    const count = this.store.totalOf(id);
    return depth <= AUTO_DEPTH && count > 0 && count <= AUTO_CHILDREN && this.drawn + count <= DRAWN_MAX;
  }

  private windowOf(id: string, open: boolean): Group {
    if (!open) return CLOSED;
    const room = DRAWN_MAX - this.drawn;
    if (room <= 0) return HELD;
    if (!this.store.isComplete(id)) return this.partOf(id, room);
    const filter = this.filters.get(id) ?? null;
    const all = this.store.childrenOf(id);
    const fitting = filter === null ? all : all.filter((child) => this.store.nodes.get(child)?.state === filter);
    const from = pageWithin(this.pages.get(id) ?? 0, fitting.length);
    const ids = fitting.slice(from, from + Math.min(PAGE_SIZE, room));
    return { open: true, held: false, loading: false, ids, from, total: fitting.length, filter };
  }

  /** The page of a container of which the tree as read holds the first children only. */
  private partOf(id: string, room: number): Group {
    const total = this.store.totalOf(id);
    const from = pageWithin(this.pages.get(id) ?? 0, total);
    const count = Math.min(PAGE_SIZE, total - from);
    const first = this.store.childrenOf(id);
    const page = this.store.pages.get(id);
    let ids = first.slice(from, from + count);
    if (ids.length < count && page?.from === from) ids = page.ids.slice(0, count);
    const loading = ids.length < count;
    if (loading) this.loadPage(id, from);
    return { open: true, held: false, loading, ids: ids.slice(0, room), from, total, filter: null };
  }

  /** The group as it was, where nothing about it changed: what hangs on it is then not drawn again. */
  private kept(id: string, group: Group): Group {
    const old = this.groups.get(id);
    if (old === undefined) return group;
    const same =
      old.open === group.open &&
      old.held === group.held &&
      old.loading === group.loading &&
      old.from === group.from &&
      old.total === group.total &&
      old.filter === group.filter &&
      old.ids.length === group.ids.length &&
      old.ids.every((child, i) => child === group.ids[i]);
    return same ? old : group;
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The beginning of the page asked for, or of the last one where there are no longer so many. */
function pageWithin(asked: number, count: number): number {
  return asked < count ? asked : PAGE_SIZE * Math.floor(Math.max(0, count - 1) / PAGE_SIZE);
}
