import type { RunnerBroker } from '@heddle/core/engine/port';
import type { RunnerStore } from '@heddle/core/pool/port/store';

/** Returns a broker that turns the demands of tasks into requests of the pool. */
export function runnerBrokerOf(store: Pick<RunnerStore, 'ask'>): RunnerBroker {
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
