import type { ChildrenPage, TreeNode as WireNode, Workflow, WorkflowChange, WorkflowTree } from '@heddle/client';
import { STATE } from '../ui/state.ts';
import type { Tally } from '../ui/state.ts';
import { sameTally, tallyTree } from './tally.ts';
import { nodeOf, sameNode } from './tree-node.ts';
import type { ContainerNode, TreeNode } from './tree-node.ts';

/** Children from position `from` on, read separately because the tree omits them. */
export interface ChildPage {
  readonly from: number;
  readonly ids: readonly string[];
}

/**
 * The tree of one workflow, or its loaded part: the first children of each container, and of large ones a further page.
 * Flat; kept current by reads and by events; nodes are replaced, never changed.
 */
export class TreeStore {
  readonly nodes = new Map<string, TreeNode>();
  readonly pages = new Map<string, ChildPage>();
  workflow: Workflow | null = null;
  rootId: string | null = null;
  loaded = false;
  /** Whether some container has children that are not loaded. */
  truncated = false;
  /** Increases with every change, for React. */
  version = 0;
  private readonly firstChildren = new Map<string, readonly string[]>();
  private tallies = new Map<string, Tally>();
  private readonly listeners = new Set<(structure: boolean) => void>();

  /** Calls back after each change, with whether nodes were added, removed, or recounted. */
  readonly subscribe = (listener: (structure: boolean) => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get root(): ContainerNode | null {
    const root = this.rootId === null ? undefined : this.nodes.get(this.rootId);
    return root?.type === 'container' ? root : null;
  }

  /** Whether the workflow has ended. */
  get finished(): boolean {
    return this.root !== null && STATE[this.root.state].ended;
  }

  /** Tasks below a container by state, as far as they are loaded; replaced when it changes. */
  tally(id: string): Tally {
    return this.tallies.get(id) ?? EMPTY;
  }

  /** The children of a container in the tree read: from the first one on. */
  childrenOf(id: string): readonly string[] {
    return this.firstChildren.get(id) ?? NONE;
  }

  /** Total number of children of a container. */
  totalOf(id: string): number {
    const node = this.nodes.get(id);
    return Math.max(this.childrenOf(id).length, node?.type === 'container' ? node.counts.children : 0);
  }

  isComplete(id: string): boolean {
    return this.childrenOf(id).length >= this.totalOf(id);
  }

  /** The containers around a node, from the root down, without the node itself. */
  ancestors(id: string): string[] {
    const path: string[] = [];
    for (let at = this.nodes.get(id)?.parent ?? null; at !== null; at = this.nodes.get(at)?.parent ?? null) {
      path.push(at);
    }
    return path.reverse();
  }

  /** Applies a full read of the workflow. */
  replace({ root, truncated, ...workflow }: WorkflowTree): void {
    let structure = !this.loaded || this.rootId !== root.id || this.truncated !== truncated;
    const seen = new Set<string>();
    // No recursion: a tree may be a thousand levels deep.
    const open: { wire: WireNode; parent: string | null }[] = [{ wire: root, parent: null }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { wire, parent } = next;
      seen.add(wire.id);
      this.put(nodeOf(wire, parent));
      if (wire.type !== 'container') continue;
      const ids = wire.children.map((child) => child.id);
      const old = this.firstChildren.get(wire.id);
      if (old?.length !== ids.length || ids.some((id, i) => id !== old[i])) {
        this.firstChildren.set(wire.id, ids);
        structure = true;
      }
      for (const child of wire.children.toReversed()) open.push({ wire: child, parent: wire.id });
    }
    this.workflow = workflow;
    this.rootId = root.id;
    this.truncated = truncated;
    this.loaded = true;
    this.forgetOthers(seen);
    this.changed(structure);
  }

  /** Applies a page of a container's children; it is kept until the container's next one. */
  putPage(from: number, page: ChildrenPage): void {
    const { container } = page;
    const parent = this.nodes.get(container.id);
    if (parent === undefined) return;
    this.put(nodeOf(container, parent.parent));
    const ids = page.children.map((child) => child.id);
    this.dropPage(container.id, new Set(ids));
    this.pages.set(container.id, { from, ids });
    for (const child of page.children) {
      this.put(nodeOf(child, container.id));
    }
    this.changed(true);
  }

  /** Drops the pages of all containers but these. */
  keepPages(containers: ReadonlySet<string>): void {
    for (const id of this.pages.keys()) if (!containers.has(id)) this.dropPage(id, NO_IDS);
  }

  /** Applies changed nodes; returns false if only a full read can show their position. */
  apply(change: WorkflowChange): boolean {
    const workflow = { ...this.workflow, ...change.workflow };
    let changed = !sameFields(this.workflow, workflow);
    this.workflow = workflow;
    let known = true;
    let structure = false;
    const wires = [...change.containers, ...change.tasks];
    // A new node of a fully loaded container is displayed; in others it only increases the count.
    for (const wire of wires) {
      const parent = wire.parent_id;
      if (parent === null || this.nodes.has(wire.id)) continue;
      if (this.nodes.has(parent) && this.isComplete(parent)) known = false;
    }
    for (const wire of wires) {
      const old = this.nodes.get(wire.id);
      if (old === undefined) continue;
      const next = nodeOf(wire, old.parent);
      if (next.type === 'task' && old.type === 'task' && next.updatedAt < old.updatedAt) continue;
      const total = this.totalOf(wire.id);
      changed = this.put(next) || changed;
      structure ||= this.totalOf(wire.id) !== total;
    }
    if (changed) this.changed(structure);
    return known;
  }

  /** Notifies listeners to read again. */
  look(): void {
    for (const listener of this.listeners) listener(true);
  }

  /** Returns whether it differs from what was known. */
  private put(node: TreeNode): boolean {
    const old = this.nodes.get(node.id);
    if (old !== undefined && sameNode(old, node)) return false;
    this.nodes.set(node.id, node);
    return true;
  }

  private dropPage(id: string, kept: ReadonlySet<string>): void {
    const first = new Set(this.childrenOf(id));
    for (const child of this.pages.get(id)?.ids ?? NONE) {
      if (!kept.has(child) && !first.has(child)) this.forget(child);
    }
    this.pages.delete(id);
  }

  private forgetOthers(seen: ReadonlySet<string>): void {
    const paged = new Set<string>();
    for (const [id, page] of this.pages) {
      if (!this.nodes.has(id)) this.pages.delete(id);
      else for (const child of page.ids) paged.add(child);
    }
    for (const id of this.nodes.keys()) if (!seen.has(id) && !paged.has(id)) this.forget(id);
  }

  private forget(id: string): void {
    this.nodes.delete(id);
    this.firstChildren.delete(id);
    this.tallies.delete(id);
  }

  private changed(structure: boolean): void {
    const fresh = tallyTree(this);
    for (const [id, tally] of fresh) {
      const old = this.tallies.get(id);
      if (old !== undefined && sameTally(old, tally)) fresh.set(id, old);
    }
    this.tallies = fresh;
    this.version += 1;
    for (const listener of this.listeners) listener(structure);
  }
}

function sameFields(a: Workflow | null, b: Workflow): boolean {
  return a !== null && (Object.keys(b) as (keyof Workflow)[]).every((key) => a[key] === b[key]);
}

const EMPTY: Tally = {};
const NONE: readonly string[] = [];
const NO_IDS: ReadonlySet<string> = new Set();
