import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import type { NewTask, Rule } from '@heddle/base/vocabulary/task';
import { newId, type Random } from '@heddle/base/random';

export const WORKER_KINDS = ['ruled', 'free'] as const;
/** Most `ruled` tasks at once: in all, and of one tenant. */
export const WORKER_LIMITS = { all: 9, tenant: 4 } as const;
/** What a killed worker's tasks come back after. */
export const WORKER_TIMEOUT_SECS = 3;

const matcher = { kind: 'ruled', fields: [] };
const RULES: readonly Rule[] = [
  { type: 'concurrency', matcher, max: WORKER_LIMITS.all },
  { type: 'concurrency', matcher: { ...matcher, fields: ['tenant'] }, max: WORKER_LIMITS.tenant },
];

/** Tasks for workers in process: a third under rules, most with parents, some failing at first. All succeed in the end. */
export function makeWorkerTasks(count: number, random: Random): NewTask[] {
  return Array.from({ length: count }, (_, index) => {
    const kind = random.next() < 0.35 ? 'ruled' : 'free';
    const parents = new Set<number>();
    for (let n = Math.floor(random.next() * 3); n > 0 && index > 0; n -= 1) {
      // Of the last fifty: long chains, so that the work takes its time.
      parents.add(Math.max(0, index - 1 - Math.floor(random.next() * 50)));
    }
    return {
      id: newId(),
      local_id: String(index),
      name: `${kind} ${index}`,
      kind,
      ...settingsOf('batch', { timeout: WORKER_TIMEOUT_SECS, timeout_basis: 'start' }),
      delay_ms: 0,
      metadata: {
        tenant: 'abc'[Math.floor(random.next() * 3)]!,
        work_ms: Math.floor(random.next() * 60),
        failing_attempts: random.next() < 0.05 ? 1 : 0,
      },
      actions: [],
      rules: kind === 'ruled' ? RULES : [],
      dedupe: [],
      retry: { max_attempts: 50, base_ms: 20, factor: 1, max_ms: 20, jitter: 0.5 },
      dependencies: [...parents].map((parent) => ({ index: parent, requires_success: random.next() < 0.7 })),
    };
  });
}
