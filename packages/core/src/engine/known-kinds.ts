import { BUILT_IN_KINDS } from '../domain/built-in-kinds.ts';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { suggestName } from '@heddle/base/suggest';
import type { Clock } from '@heddle/base/clock';
import { findTakenKinds } from '../store/kinds.ts';
import type { Queryable } from '../store/database.ts';
import type { UnknownKind } from './port.ts';

/** Maximum number of unknown kinds per answer. */
const REPORTED_MAX = 10;
/** Maximum number of names remembered, known or unknown. */
const REMEMBERED_MAX = 10_000;
/** Time after which an unknown kind is looked up again, ms. */
const UNKNOWN_FOR_MS = 2_000;

/** Returns the kinds of the tasks that need a worker of their kind: neither a webhook target nor a runner. */
export function kindsForWorkers(tasks: Iterable<Pick<NewTask, 'kind' | 'actions' | 'requirements'>>): string[] {
  const kinds = new Set<string>();
  for (const { kind, actions, requirements } of tasks) {
    if (requirements === undefined && !actions.some(({ trigger }) => trigger === 'start')) kinds.add(kind);
  }
  return [...kinds];
}

/** Caches which kinds a worker has ever asked for. */
export class KnownKinds {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #known = new Set(BUILT_IN_KINDS);
  readonly #unknown = new Map<string, { until: number; kind: UnknownKind }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Returns the first ten of the kinds that no worker has ever asked for. Runs at most one statement. */
  async unknown(queryable: Queryable, kinds: readonly string[]): Promise<UnknownKind[]> {
    const now = this.#clock.monotonic();
    const missing = kinds.filter((kind) => !this.#known.has(kind) && (this.#unknown.get(kind)?.until ?? now) <= now);
    if (missing.length > 0) await this.#look(queryable, missing, now);
    const reports: UnknownKind[] = [];
    for (const kind of kinds) {
      const unknown = this.#unknown.get(kind);
      if (unknown !== undefined && reports.length < REPORTED_MAX) reports.push(unknown.kind);
    }
    return reports;
  }

  async #look(queryable: Queryable, kinds: readonly string[], now: number): Promise<void> {
    const { taken, names } = await findTakenKinds(queryable, kinds);
    if (this.#known.size + taken.size > REMEMBERED_MAX) {
      this.#known.clear();
      for (const kind of BUILT_IN_KINDS) this.#known.add(kind);
    }
    const candidates = [...BUILT_IN_KINDS, ...names];
    let suggested = 0;
    for (const kind of kinds) {
      if (taken.has(kind)) {
        this.#known.add(kind);
        this.#unknown.delete(kind);
      } else {
        if (suggested === REPORTED_MAX) continue;
        suggested += 1;
        if (this.#unknown.size >= REMEMBERED_MAX) this.#unknown.clear();
        const unknown = { kind, did_you_mean: nearest(kind, candidates) };
        this.#unknown.set(kind, { until: now + UNKNOWN_FOR_MS, kind: unknown });
      }
    }
  }
}

/** Compares only names of a similar length. */
function nearest(kind: string, known: readonly string[]): string | null {
  const { length } = kind;
  return suggestName(
    kind,
    known.filter((name) => name !== kind && Math.abs(name.length - length) <= Math.max(2, length / 2)),
  );
}
