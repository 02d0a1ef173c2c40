import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { STATUSES } from '../status.ts';
import type { Status } from '../status.ts';
import { useSlashKey } from '../slash-key.ts';
import { TopBar } from '../top-bar.tsx';
import { DetailsPanel } from './details-panel.tsx';
import { FeedBanner, FeedSignal } from '../live/feed-banner.tsx';
import type { Graph } from './graph.ts';
import { GraphView } from './graph-view.tsx';
import { Legend } from './legend.tsx';
import { REFRESH_INTERVAL_MS } from '../live/live-feed.ts';
import type { LiveFeed } from '../live/live-feed.ts';
import { ProgressSummary } from './progress-summary.tsx';
import { useStoreVersion } from './subscriptions.ts';
import { TaskList } from './task-list.tsx';
import { matchesQuery } from './task-filter.ts';
import type { TaskStore, TaskView } from './task-store.ts';

const HIGHLIGHT_PAUSE_MS = 120;

/** The graph of a loaded batch with its controls. */
export function Workbench({ batchId, store, feed }: { batchId: string; store: TaskStore; feed: LiveFeed }) {
  const version = useStoreVersion(store);
  const [graph, setGraph] = useState<Graph | null>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const [shown, setShown] = useState<ReadonlySet<Status>>(() => new Set(STATUSES));
  const [query, setQuery] = useState('');
  const search = useRef<HTMLInputElement>(null);
  const autoRefresh = useAutoRefresh(feed);

  const filtering = query.trim() !== '' || shown.size < STATUSES.length;
  const keep = useCallback((task: TaskView) => shown.has(task.status) && matchesQuery(task, query), [shown, query]);
  const listed = useMemo(
    () => (filtering ? [...store.tasks.values()].filter(keep) : [...store.tasks.values()]),
    // The store changes in place; its version represents its content.
    [store, version, filtering, keep],
  );
  useEffect(() => {
    // Fading the graph waits for a pause, so that typing stays responsive.
    const timer = setTimeout(() => graph?.highlight(filtering ? keep : null), filtering ? HIGHLIGHT_PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [graph, filtering, keep, version]);
  useEffect(() => graph?.select(selected), [graph, selected]);
  useSlashKey(search);
  const showAll = (): void => {
    setShown(new Set(STATUSES));
    setQuery('');
  };

  return (
    <div className="page workbench">
      <TopBar>
        <div className="batch-title">
          <h1 title={batchId}>{store.batch?.name ?? `Batch ${batchId.slice(0, 13)}`}</h1>
          <FeedSignal feed={feed} />
        </div>
      </TopBar>
      <FeedBanner feed={feed} />
      <section className="summary" aria-label="Progress">
        <ProgressSummary store={store} />
        <div className="controls">
          <Legend counts={store.counts} shown={shown} onChange={setShown} />
          <input
            ref={search}
            type="search"
            className="task-search"
            placeholder="Find a task  ( / )"
            aria-label="Find tasks by name, kind or ID"
            value={query}
            onChange={(event) => {
              setQuery(event.target.value);
              setSelected(null);
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && listed[0] !== undefined) setSelected(listed[0].id);
            }}
          />
          <label className="toggle" title="Reload the whole batch every 5 seconds, in addition to live updates">
            <input
              type="checkbox"
              checked={autoRefresh.on}
              onChange={(event) => autoRefresh.set(event.target.checked)}
            />
            Auto-refresh (5 s)
          </label>
        </div>
      </section>
      <div className="stage">
        <GraphView store={store} selected={selected} onSelect={setSelected} onGraph={setGraph} />
        <aside className="panel" aria-label={selected === null ? 'Tasks' : 'Task details'}>
          {selected === null ? (
            <TaskList tasks={listed} total={store.tasks.size} onShowAll={showAll} onSelect={setSelected} />
          ) : (
            <DetailsPanel key={selected} id={selected} store={store} feed={feed} onSelect={setSelected} />
          )}
        </aside>
      </div>
    </div>
  );
}

/** Full reads every few seconds, if enabled by the user. */
function useAutoRefresh(feed: LiveFeed): { on: boolean; set: (on: boolean) => void } {
  const [on, set] = useState(false);
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => void feed.refresh().catch(() => undefined), REFRESH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [on, feed]);
  return { on, set };
}
