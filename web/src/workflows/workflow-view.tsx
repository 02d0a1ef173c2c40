import type { Run } from '@heddle/client';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { FeedFrame } from '../live/feed-frame.tsx';
import { LiveFeed } from '../live/live-feed.ts';
import { PanelDetail } from '../live/panel-detail.tsx';
import { RunToolbar } from '../live/run-toolbar.tsx';
import { TaskList } from '../live/task-list.tsx';
import { TaskPanel } from '../live/task-panel.tsx';
import { useSelection } from '../live/use-selection.ts';
import type { State } from '../ui/state.ts';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { ContainerPanel } from './container-panel.tsx';
import { knownTasks, useListedTasks } from './listed-task.ts';
import { TaskPlace } from './node-place.tsx';
import { TreeCanvas } from './tree-canvas.tsx';
import { TreeContext, useSelected, useStoreVersion, useTree, useTreeNode } from './tree-context.ts';
import type { TreeModel } from './tree-context.ts';
import { TreeStore } from './tree-store.ts';
import { TreeView } from './tree-view.ts';
import { WorkflowSource } from './workflow-source.ts';

/** The tree of a workflow, with its tasks beside it. */
export function WorkflowView({ run }: { run: Run }) {
  const [{ store, source, feed, view }] = useState(() => {
    const fresh = new TreeStore();
    const from = new WorkflowSource(run.id, fresh);
    return { store: fresh, source: from, feed: new LiveFeed(from), view: new TreeView(fresh, from.loadPage) };
  });
  useEffect(() => {
    const close = source.open();
    const detach = view.attach();
    feed.start();
    return () => {
      feed.stop();
      detach();
      close();
    };
  }, [source, view, feed]);
  useStoreVersion(store);
  return (
    <FeedFrame feed={feed} endedAt={run.ended_at} loaded={store.loaded}>
      {() => <Workbench model={{ store, view }} feed={feed} />}
    </FeedFrame>
  );
}

function Workbench({ model: { store, view }, feed }: { model: TreeModel; feed: LiveFeed }) {
  useStoreVersion(store);
  const selected = useSelected(view);
  const [shown, setShown] = useState<ReadonlySet<State>>(() => new Set());
  const [query, setQuery] = useState('');
  const open = useAddress({ store, view }, selected);
  const find = (change: () => void): void => {
    change();
    view.select(null);
  };
  return (
    <TreeContext value={useMemo(() => ({ store, view }), [store, view])}>
      <RunToolbar
        feed={feed}
        tally={store.tally(store.rootId ?? '')}
        shown={shown}
        onShown={(next) => find(() => setShown(next))}
        query={query}
        onQuery={(next) => find(() => setQuery(next))}
        onEnter={() => {
          const first = knownTasks(store, query, shown).next();
          if (first.done !== true) open(first.value.id);
        }}
      />
      <Breadcrumbs />
      <div className="stage">
        <TreeCanvas />
        <aside className="panel" aria-label={selected === null ? 'Tasks' : 'Details'}>
          {selected === null ? (
            <TreeTasks
              query={query}
              shown={shown}
              onShowAll={() => {
                setShown(new Set());
                setQuery('');
              }}
              onSelect={open}
            />
          ) : (
            <PanelDetail key={selected} back="All tasks" onBack={() => view.select(null)}>
              <Selected id={selected} />
            </PanelDetail>
          )}
        </aside>
      </div>
    </TreeContext>
  );
}

interface TreeTasksProps {
  query: string;
  shown: ReadonlySet<State>;
  onShowAll: () => void;
  onSelect: (id: string) => void;
}

/** The tasks that match; the list follows when there is time, so that typing stays responsive. */
function TreeTasks({ query, shown, onShowAll, onSelect }: TreeTasksProps) {
  const { store } = useTree();
  const version = useStoreVersion(store);
  const { tasks, isSearching } = useListedTasks(store, version, useDeferredValue(query), shown);
  return (
    <TaskList
      title="Tasks"
      tasks={tasks}
      total={store.workflow?.task_count ?? tasks.length}
      isFiltering={shown.size > 0 || query.trim() !== ''}
      isSearching={isSearching}
      onShowAll={onShowAll}
      onSelect={onSelect}
    />
  );
}

/** Keeps the selection in the address, and selects what the address names. Returns a function that shows a node. */
function useAddress({ store, view }: TreeModel, selected: string | null): (id: string) => void {
  const [node, select] = useSelection();
  const last = useRef(selected);
  const open = (id: string): void => {
    if (store.nodes.has(id)) view.reveal(id);
    else view.select(id);
  };
  useEffect(() => {
    if (node !== (view.selected ?? '')) {
      if (node === '') view.select(null);
      else open(node);
    }
  }, [node]);
  useEffect(() => {
    if (selected === last.current) return;
    last.current = selected;
    if (selected !== (node === '' ? null : node)) select(selected);
  }, [selected]);
  return open;
}

/** The details of one node, even of a task outside the loaded part of the tree. */
function Selected({ id }: { id: string }) {
  const { store } = useTree();
  const node = useTreeNode(id);
  if (node?.type === 'container') return <ContainerPanel node={node} />;
  const stamp = node === undefined ? String(store.workflow?.ended_at) : `${node.state} ${node.updatedAt}`;
  return (
    <TaskPanel id={id} name={node?.label ?? null} stamp={stamp}>
      {node !== undefined && <TaskPlace node={node} />}
    </TaskPanel>
  );
}
