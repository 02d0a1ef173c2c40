import { Cron } from 'croner';

import type { UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { MinIdle } from './context.ts';

const MINUTE_MS = 60_000;

export interface IdleTarget {
  readonly resource_class: string;
  readonly usage_class: UsageClass;
  readonly count: number;
}

/** Minimum number of idle runners of each class and usage class: the highest of all entries that apply at the time. */
export class IdleTargets {
  readonly #entries: readonly { readonly entry: MinIdle; readonly cron: Cron | null }[];

  constructor(entries: readonly MinIdle[]) {
    this.#entries = entries.map((entry) => ({ entry, cron: cronOf(entry) }));
  }

  /** @param now milliseconds since the epoch */
  at(now: number): IdleTarget[] {
    const minute = new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS);
    const targets = new Map<string, IdleTarget>();
    for (const { entry, cron } of this.#entries) {
      if (cron !== null && !cron.match(minute)) continue;
      const { resource_class, usage_class, count } = entry;
      const key = `${resource_class}/${usage_class}`;
      const known = targets.get(key);
      if (known === undefined || known.count < count) targets.set(key, { resource_class, usage_class, count });
    }
    return [...targets.values()];
  }
}

function cronOf({ schedule, time_zone }: MinIdle): Cron | null {
  return schedule === null ? null : new Cron(schedule.trim(), { timezone: time_zone, mode: '5-or-6-parts' });
}
