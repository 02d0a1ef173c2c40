import type { State } from '../ui/state.ts';
import type { TreeStore } from './tree-store.ts';

/** Maximum number of nodes on screen: what a browser draws and scrolls smoothly. */
export const DRAWN_MAX = 2000;
/** Children of one container on screen at a time; the others are on further pages. */
export const PAGE_SIZE = 100;
/** Containers open automatically to this depth below the current one if they have at most this many children. */
const AUTO_DEPTH = 4;
const AUTO_CHILDREN = 40;
/** Maximum depth of a revealed node below the current container: each level takes some width. */
const REVEAL_DEPTH = 6;

/** The visible part of one container. */
export interface Group {
  readonly open: boolean;
  /** Would be open, but the maximum number of nodes is reached. */
  readonly held: boolean;
  /** Part of this page is being loaded. */
  readonly loading: boolean;
  readonly ids: readonly string[];
  /** Start of the page, among `total` children that match the filter. */
  readonly from: number;
  readonly total: number;
  readonly filter: State | null;
}

const CLOSED: Group = { open: false, held: false, loading: false, ids: [], from: 0, total: 0, filter: null };
const HELD: Group = { ...CLOSED, held: true };

/** The visible part of a tree: the current container, open containers below it, the page of each, the selection. */
export class TreeView {
  private readonly store: TreeStore;
  private readonly loadPage: (container: string, from: number) => void;
  private groups = new Map<string, Group>();
  private readonly choices = new Map<string, boolean>();
  private readonly pages = new Map<string, number>();
  private readonly filters = new Map<string, State>();
  private readonly listeners = new Set<() => void>();
  private focusId: string | null = null;
  selected: string | null = null;
  /** The node that gets the keyboard focus when the tree is entered. */
  active: string | null = null;
  /** Nodes on screen. */
  drawn = 0;

  /** `loadPage` loads children that the tree omits, from a position on, into the store. */
  constructor(store: TreeStore, loadPage: (container: string, from: number) => void) {
    this.store = store;
    this.loadPage = loadPage;
  }

  /** Follows the store until the returned function is called. */
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
    this.notify();
  }

  activate(id: string): void {
    if (this.active === id) return;
    this.active = id;
    this.notify();
  }

  setOpen(id: string, open: boolean): void {
    this.choices.set(id, open);
    this.lay();
  }

  toggle(id: string): void {
    this.setOpen(id, !this.group(id).open);
  }

  /** Focuses a container; a task focuses its container. */
  zoomTo(id: string | null): void {
    const node = id === null ? undefined : this.store.nodes.get(id);
    this.focusId = node?.type === 'task' ? node.parent : id;
    this.active = id;
    this.lay();
  }

  /** Goes one level up. */
  zoomOut(): void {
    const from = this.focus;
    if (from === null || from === this.store.rootId) return;
    this.zoomTo(this.store.nodes.get(from)?.parent ?? null);
    this.active = from;
    this.notify();
  }

  turnPage(id: string, pages: number): void {
    const { from, total } = this.group(id);
    const last = Math.max(0, Math.ceil(total / PAGE_SIZE) - 1);
    const page = Math.min(last, Math.max(0, Math.round(from / PAGE_SIZE) + pages));
    this.pages.set(id, page * PAGE_SIZE);
    this.choices.set(id, true);
    this.lay();
  }

  /** Shows only the children in one state, and opens the container; the same state again shows all. */
  setFilter(id: string, state: State): void {
    if (this.filters.get(id) === state) this.filters.delete(id);
    else this.filters.set(id, state);
    this.pages.delete(id);
    this.choices.set(id, true);
    this.lay();
  }

  /** Selects a node and opens, pages and zooms so that it is visible. */
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

  /** Recomputes what is visible; containers opened by the user take precedence over automatically opened ones. */
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
    this.notify();
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

  /** The page of a container of which only the first children are loaded. */
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

  /** Reuses an unchanged group, so that its subtree is not rendered again. */
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

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The start of the requested page, or of the last one if there are fewer now. */
function pageWithin(asked: number, count: number): number {
  return asked < count ? asked : PAGE_SIZE * Math.floor(Math.max(0, count - 1) / PAGE_SIZE);
}
