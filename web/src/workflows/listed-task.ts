import type { BasicTask } from '@heddle/client';
import { useEffect, useMemo, useState } from 'react';
import { findTasks } from '../api/workflows.ts';
import type { ListedTask } from '../live/task-list.tsx';
import { matcherOf } from '../dag/task-filter.ts';
import { parseTime } from '../times.ts';
import { stateOf } from '../ui/state.ts';
import type { State } from '../ui/state.ts';
import type { TreeStore } from './tree-store.ts';

const SEARCH_PAUSE_MS = 250;
const SEARCH_PAGE = 100;

/** The words by which the API lists tasks. */
const LISTED_AS: Readonly<Record<State, string>> = {
  waiting: 'Waiting',
  pending: 'Pending',
  claimed: 'Claimed',
  running: 'Running',
  creating: 'Running',
  paused: 'Paused',
  succeeded: 'Success',
  partial: 'Failure',
  failed: 'Failure',
  timeout: 'Failure',
  canceled: 'Canceled',
  skipped: 'Canceled',
};

function listed(task: BasicTask): ListedTask {
  return {
    id: task.id,
    name: task.name,
    kind: task.kind,
    state: stateOf(task.status),
    reason: task.failure_reason ?? null,
    startedAt: parseTime(task.started_at),
    endedAt: parseTime(task.ended_at),
  };
}

interface Found {
  key: string;
  tasks: ListedTask[];
}

/** The loaded tasks that match the search and the states. */
export function* knownTasks(store: TreeStore, query: string, shown: ReadonlySet<State>): Generator<ListedTask> {
  const matches = matcherOf(query);
  for (const node of store.nodes.values()) {
    if (node.type !== 'task' || (shown.size > 0 && !shown.has(node.state))) continue;
    const { id, label: name, kind, state, reason, startedAt, endedAt } = node;
    if (matches({ id, name, kind })) yield { id, name, kind, state, reason, startedAt, endedAt };
  }
}

/**
 * Tasks that match the search and the states (none: all of them). Known ones are found here; if only part of the tree
 * is loaded, the server is queried too.
 */
export function useListedTasks(
  store: TreeStore,
  version: number,
  query: string,
  shown: ReadonlySet<State>,
): { tasks: readonly ListedTask[]; isSearching: boolean } {
  // The store changes in place; its version represents its content.
  const known = useMemo(() => [...knownTasks(store, query, shown)], [store, version, query, shown]);
  const [found, setFound] = useState<Found>({ key: '', tasks: [] });
  const ask = store.truncated && (query.trim() !== '' || shown.size > 0);
  const statuses = [...new Set([...shown].map((state) => LISTED_AS[state]))];
  const key = ask ? `${query.trim()} ${statuses.join(' ')}` : '';
  const workflowId = store.workflow?.id ?? '';
  useEffect(() => {
    if (key === '') return;
    const stopped = new AbortController();
    const search = async (): Promise<void> => {
      const asked = statuses.length === 0 ? [null] : statuses;
      const answers = await Promise.all(
        asked.map((status) =>
          findTasks(workflowId, { name: query.trim(), status, page: 0, pageSize: SEARCH_PAGE }, stopped.signal),
        ),
      );
      setFound({ key, tasks: answers.flat().map(listed) });
    };
    const timer = setTimeout(() => {
      search().catch(() => {
        if (!stopped.signal.aborted) setFound({ key, tasks: [] });
      });
    }, SEARCH_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
    // The key represents the query and the states.
  }, [key, workflowId]);
  const tasks = useMemo(() => {
    if (key === '' || found.key !== key) return known;
    const ids = new Set(known.map((task) => task.id));
    return [...known, ...found.tasks.filter((task) => !ids.has(task.id))];
  }, [known, found, key]);
  return { tasks, isSearching: key !== '' && found.key !== key };
}
