import { useEffect, useMemo, useState } from 'react';
import { findTasks } from '../api/workflows.ts';
import type { BasicTask } from '@heddle/client';
import { parseTime } from '../times.ts';
import type { NodeState } from './node-state.ts';
import type { TreeStore } from './tree-store.ts';

/** A task in the list beside the tree. */
export interface ListedTask {
  id: string;
  label: string;
  kind: string;
  state: NodeState;
  reason: string | null;
  startedAt: number | null;
  endedAt: number | null;
}

const SEARCH_PAUSE_MS = 250;
const SEARCH_PAGE = 100;

/** Maps the states shown here to those of the batch API, which lists tasks. */
const BATCH_STATUS: Record<NodeState, string> = {
  Pending: 'Pending',
  Running: 'Running',
  PendingTaskCreation: 'Running',
  Succeeded: 'Success',
  PartiallyFailed: 'Failure',
  Failed: 'Failure',
  Timeout: 'Failure',
  Disabled: 'Canceled',
};

const NODE_STATE: Record<string, NodeState> = {
  Waiting: 'Pending',
  Pending: 'Pending',
  Paused: 'Pending',
  Claimed: 'Running',
  Running: 'Running',
  Success: 'Succeeded',
  Failure: 'Failed',
  Canceled: 'Disabled',
};

function listed(task: BasicTask): ListedTask {
  return {
    id: task.id,
    label: task.name,
    kind: task.kind,
    state: NODE_STATE[task.status] ?? 'Pending',
    reason: task.failure_reason ?? null,
    startedAt: parseTime(task.started_at),
    endedAt: parseTime(task.ended_at),
  };
}

function matches(task: ListedTask, query: string): boolean {
  const text = query.trim().toLowerCase();
  return [task.label, task.kind, task.id].some((part) => part.toLowerCase().includes(text));
}

interface Found {
  key: string;
  tasks: ListedTask[];
}

/**
 * Tasks that match the search and the states (none: all of them). Known ones are found here; if only part of the tree
 * is loaded, the server is queried too.
 */
export function useListedTasks(
  store: TreeStore,
  version: number,
  query: string,
  shown: ReadonlySet<NodeState>,
): { tasks: readonly ListedTask[]; searching: boolean } {
  const known = useMemo(() => {
    const tasks: ListedTask[] = [];
    for (const node of store.nodes.values()) {
      if (node.type !== 'task' || (shown.size > 0 && !shown.has(node.state))) continue;
      if (query.trim() === '' || matches(node, query)) tasks.push(node);
    }
    return tasks;
    // The store changes in place; its version represents its content.
  }, [store, version, query, shown]);
  const [found, setFound] = useState<Found>({ key: '', tasks: [] });
  const ask = store.truncated && (query.trim() !== '' || shown.size > 0);
  const statuses = [...new Set([...shown].map((state) => BATCH_STATUS[state]))];
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
  return { tasks, searching: key !== '' && found.key !== key };
}
