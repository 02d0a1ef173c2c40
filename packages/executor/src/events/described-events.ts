import type { Clock } from '@heddle/base/clock';
import type { DescribedEvent, EventCode, ExecutionTier } from '../execution/port.ts';
import { TIERS, type Tier } from '../protocol/messages.ts';
import { CodeFault } from './code-fault.ts';
import type { StoredCode } from './code-store.ts';
import { EVENT_NAME } from './config/event-entry.ts';
import { entryModule } from './entry-module.ts';
import { SharedAttempts } from './shared-attempts.ts';

const EVENTS_PER_MODULE_MAX = 1_000;

/** Events defined by a module, as described by the sandbox. */
export interface DescribedModule {
  readonly code: EventCode;
  readonly events: ReadonlyMap<string, DescribedEvent>;
}

/** Describes each module once. Runs in the sandbox, because describing a module executes its code. */
export class DescribedEvents {
  readonly #describe: ExecutionTier['describe'];
  readonly #attempts: SharedAttempts<DescribedModule>;
  readonly #known = new Map<string, DescribedModule>();

  constructor(describe: ExecutionTier['describe'], clock: Clock) {
    this.#describe = describe;
    this.#attempts = new SharedAttempts(clock);
  }

  /** @param entry null: as the code itself states. @throws AttemptFailure, or the signal's reason */
  of(code: StoredCode, entry: string | null, signal: AbortSignal): DescribedModule | Promise<DescribedModule> {
    const key = `${code.digest} ${entry ?? ''}`;
    return this.#known.get(key) ?? this.#attempts.run(key, () => this.#describeModule(key, code, entry), signal);
  }

  /** Returns the known description without asking. */
  known(digest: string, entry: string | null): ReadonlyMap<string, DescribedEvent> | null {
    return this.#known.get(`${digest} ${entry ?? ''}`)?.events ?? null;
  }

  async #describeModule(
    key: string,
    { digest, directory, files }: StoredCode,
    entry: string | null,
  ): Promise<DescribedModule> {
    const code = { digest, directory, entry: await entryModule({ directory, files }, entry) };
    const module = { code, events: checked(await this.#describe(code)) };
    this.#known.set(key, module);
    return module;
  }
}

/** Validates a description, because untrusted code ran in the process that sent it. */
function checked(described: readonly DescribedEvent[]): ReadonlyMap<string, DescribedEvent> {
  if (described.length > EVENTS_PER_MODULE_MAX)
    throw new CodeFault(`it defines more than ${EVENTS_PER_MODULE_MAX} events`);
  const events = new Map<string, DescribedEvent>();
  for (const { name, timeout_secs, memory_mb, tier, idempotent } of described) {
    if (typeof name !== 'string' || !EVENT_NAME.test(name))
      throw new CodeFault('it defines an event with an invalid name');
    if (events.has(name)) throw new CodeFault(`it defines the event ${name} twice`);
    events.set(name, {
      name,
      timeout_secs: wholeOrNull(timeout_secs),
      memory_mb: wholeOrNull(memory_mb),
      tier: TIERS.find((known) => known === tier) ?? null,
      idempotent: (idempotent as unknown) === true,
    });
  }
  return events;
}

function wholeOrNull(value: number | null): number | null {
  return Number.isSafeInteger(value) && value! >= 1 ? value : null;
}

export interface DefinitionBounds {
  timeout_secs: number;
  memory_mb: number;
  tier: Tier;
}

/** Operator's overrides for an event; they must be within the executor's bounds or startup fails. */
export interface DefinitionOverrides {
  tier: Tier | null;
  timeout_secs: number | null;
  memory_mb: number | null;
}

/** Returns the faults of the operator's overrides; empty if there are none. */
export function overrideFaults(overrides: DefinitionOverrides, bounds: DefinitionBounds): string[] {
  const faults: string[] = [];
  for (const name of ['timeout_secs', 'memory_mb'] as const) {
    const given = overrides[name];
    if (given !== null && given > bounds[name]) faults.push(`${name} exceeds the executor's limit of ${bounds[name]}`);
  }
  const { tier } = overrides;
  if (tier !== null && TIERS.indexOf(tier) < TIERS.indexOf(bounds.tier)) {
    faults.push(`tier ${tier} is weaker than the executor's ${bounds.tier}`);
  }
  return faults;
}

/**
 * Returns the effective definition: the operator's override, otherwise the code's own value if it is stricter than the
 * executor's bound.
 */
export function definitionWithin(
  described: DescribedEvent,
  overrides: DefinitionOverrides,
  bounds: DefinitionBounds,
): DescribedEvent {
  const { timeout_secs, memory_mb, tier } = described;
  const isStronger = tier !== null && TIERS.indexOf(tier) > TIERS.indexOf(bounds.tier);
  return {
    ...described,
    timeout_secs:
      overrides.timeout_secs ?? (timeout_secs === null ? null : Math.min(timeout_secs, bounds.timeout_secs)),
    memory_mb: overrides.memory_mb ?? (memory_mb === null ? null : Math.min(memory_mb, bounds.memory_mb)),
    tier: overrides.tier ?? (isStronger ? tier : null),
  };
}
