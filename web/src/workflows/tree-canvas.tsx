import { useEffect, useRef, useState } from 'react';
import { ZoomButtons } from '../live/zoom-buttons.tsx';
import type { State } from '../ui/state.ts';
import { TreeItem } from './tree-item.tsx';
import { useDrawn, useFocus, useSelected, useTree } from './tree-context.ts';
import { DRAWN_MAX } from './tree-view.ts';
import type { TreeView } from './tree-view.ts';

const ZOOMS = [0.4, 0.5, 0.65, 0.8, 1, 1.25];
const ZOOM_NORMAL = ZOOMS.indexOf(1);

/** The tree as nested boxes: handles clicks and keys for all of its nodes. */
export function TreeCanvas() {
  const { view } = useTree();
  const tree = useRef<HTMLDivElement>(null);
  const focus = useFocus(view);
  const selected = useSelected(view);
  const drawn = useDrawn(view);
  const [zoom, setZoom] = useState(ZOOM_NORMAL);
  useEffect(() => {
    if (selected !== null) find(tree.current, selected)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [selected, focus]);
  if (focus === null) return null;
  const zoomBy = (steps: number): void => setZoom((at) => Math.min(ZOOMS.length - 1, Math.max(0, at + steps)));
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = (event.target as HTMLElement).closest<HTMLElement>('[role=treeitem]');
    // Buttons within a node handle their own keys.
    if (item === null || event.target !== item) return;
    if (event.key === '+' || event.key === '=') zoomBy(1);
    else if (event.key === '-') zoomBy(-1);
    else if (!handleKey(event.key, item, view, tree.current!)) return;
    event.preventDefault();
  };
  return (
    <section className="graph tree-pane" aria-label="Tree">
      <div className="tree-scroller" onKeyDown={onKeyDown} onClick={(event) => handleClick(event, view)}>
        <div
          ref={tree}
          role="tree"
          className="tree"
          data-testid="tree"
          aria-label={
            'Containers and tasks. Arrow keys move, Enter shows details, ' +
            'Z focuses a group, Backspace goes one level up, Escape clears the selection.'
          }
          style={{ zoom: ZOOMS[zoom] }}
        >
          <TreeItem key={focus} id={focus} level={1} place={1} siblings={1} />
        </div>
      </div>
      {drawn >= DRAWN_MAX && (
        <p className="screen-full" role="status">
          {DRAWN_MAX.toLocaleString()} nodes are drawn, the maximum. Close a group, or focus one.
        </p>
      )}
      <ZoomButtons
        onIn={() => zoomBy(1)}
        onOut={() => zoomBy(-1)}
        onReset={() => setZoom(ZOOM_NORMAL)}
        reset="100 %"
        resetTitle="Reset zoom"
      />
    </section>
  );
}

function find(tree: HTMLElement | null, id: string): HTMLElement | null {
  return tree?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`) ?? null;
}

/** The box of a node: a task itself, or the head of a container and its children. */
function boxOf(element: HTMLElement | null | undefined): HTMLElement | null {
  return element?.closest<HTMLElement>('[data-node]') ?? null;
}

function handleClick(event: React.MouseEvent, view: TreeView): void {
  const target = event.target as HTMLElement;
  const id = target.closest<HTMLElement>('[data-node]')?.dataset['node'];
  if (id === undefined) return;
  const button = target.closest<HTMLElement>('[data-action]');
  const act = ACTIONS[button?.dataset['action'] ?? ''];
  if (act !== undefined) act(view, id, button!);
  // Only the head of a group represents it, not its free space.
  else if (target.closest('.task, .group-head') !== null) view.select(id);
}

const ACTIONS: Record<string, (view: TreeView, id: string, button: HTMLElement) => void> = {
  toggle: (view, id) => view.toggle(id),
  zoom: (view, id) => view.zoomTo(id),
  first: (view, id) => view.turnPage(id, -Infinity),
  previous: (view, id) => view.turnPage(id, -1),
  next: (view, id) => view.turnPage(id, 1),
  last: (view, id) => view.turnPage(id, Infinity),
  filter: (view, id, button) => view.setFilter(id, button.dataset['state'] as State),
};

/** Returns whether the key was handled, following the ARIA practices for trees. */
function handleKey(key: string, item: HTMLElement, view: TreeView, tree: HTMLElement): boolean {
  const id = item.dataset['id']!;
  const items = [...tree.querySelectorAll<HTMLElement>('[role=treeitem]')];
  const at = items.indexOf(item);
  const expanded = item.getAttribute('aria-expanded');
  const go = (to: HTMLElement | null | undefined): boolean => {
    if (to === null || to === undefined) return true;
    view.activate(to.dataset['id']!);
    to.focus();
    return true;
  };
  switch (key) {
    case 'ArrowDown':
      return go(items[at + 1]);
    case 'ArrowUp':
      return go(items[at - 1]);
    case 'Home':
      return go(items[0]);
    case 'End':
      return go(items.at(-1));
    case 'ArrowRight':
      if (expanded === 'false') view.setOpen(id, true);
      else if (expanded === 'true') go(boxOf(item)?.querySelector<HTMLElement>(':scope > .group-body [role=treeitem]'));
      return true;
    case 'ArrowLeft':
      if (expanded === 'true' && at > 0) view.setOpen(id, false);
      else go(boxOf(boxOf(item)?.parentElement)?.querySelector<HTMLElement>('[role=treeitem]'));
      return true;
    case 'Enter':
    case ' ':
      view.select(id);
      return true;
    case 'Escape':
      view.select(null);
      return true;
    case 'z':
    case 'Z':
      view.zoomTo(id);
      focusLater(tree, id);
      return true;
    case 'Backspace':
      view.zoomOut();
      focusLater(tree, view.active);
      return true;
    default:
      return false;
  }
}

/** Focus stays in the tree when the current container changes: the node is rendered first. */
function focusLater(tree: HTMLElement, id: string | null): void {
  requestAnimationFrame(() => {
    const item = id === null ? null : find(tree, id);
    (item ?? tree.querySelector<HTMLElement>('[role=treeitem]'))?.focus();
  });
}
