import type { RunnerDesk } from '../../engine/port.ts';
import type { RunnerStore } from '../../pool/port/store.ts';

/** Where tasks get their runners: what they ask for are requests of the pool. */
export function deskOf(store: Pick<RunnerStore, 'ask'>): RunnerDesk {
  return {
    ask: (demands) =>
      store.ask(
        demands.map(({ task_id, ...demand }) => ({
          ...demand,
          source: 'task' as const,
          run: task_id,
          expires_at: null,
        })),
      ),
  };
}
