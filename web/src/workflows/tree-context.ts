import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Tally } from '../ui/state.ts';
import type { TreeNode } from './tree-node.ts';
import type { TreeStore } from './tree-store.ts';
import type { Group, TreeView } from './tree-view.ts';

export interface TreeModel {
  store: TreeStore;
  view: TreeView;
}

export const TreeContext = createContext<TreeModel | null>(null);

export function useTree(): TreeModel {
  const model = useContext(TreeContext);
  if (model === null) throw new Error('a node of a tree is drawn outside of one');
  return model;
}

/** The current state of a node; its subtree is rendered again only when it is replaced. */
export function useTreeNode(id: string): TreeNode | undefined {
  const { store } = useTree();
  return useSyncExternalStore(store.subscribe, () => store.nodes.get(id));
}

export function useTally(id: string): Tally {
  const { store } = useTree();
  return useSyncExternalStore(store.subscribe, () => store.tally(id));
}

export function useGroup(id: string): Group {
  const { view } = useTree();
  return useSyncExternalStore(view.subscribe, () => view.group(id));
}

/** Whether a node is selected, and whether it has the keyboard focus. */
export function useMarks(id: string): { selected: boolean; active: boolean } {
  const { view } = useTree();
  const selected = useSyncExternalStore(view.subscribe, () => view.selected === id);
  const active = useSyncExternalStore(view.subscribe, () => (view.active ?? view.focus) === id);
  return { selected, active };
}

export function useStoreVersion(store: TreeStore): number {
  return useSyncExternalStore(store.subscribe, () => store.version);
}

/** The container that fills the screen. */
export function useFocus(view: TreeView): string | null {
  return useSyncExternalStore(view.subscribe, () => view.focus);
}

export function useSelected(view: TreeView): string | null {
  return useSyncExternalStore(view.subscribe, () => view.selected);
}

export function useDrawn(view: TreeView): number {
  return useSyncExternalStore(view.subscribe, () => view.drawn);
}
