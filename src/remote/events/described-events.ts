import type { Clock } from '../../runtime/clock.ts';
import type { DescribedEvent, EventCode, ExecutionTier } from '../execution/port.ts';
import { TIERS, type Tier } from '../protocol/messages.ts';
import { CodeFault } from './code-fault.ts';
import type { StoredCode } from './code-store.ts';
import { EVENT_NAME } from './config/event-entry.ts';
import { entryModule } from './entry-module.ts';
import { SharedAttempts } from './shared-attempts.ts';

const EVENTS_PER_MODULE_MAX = 1_000;

/** What modules define, as the sandbox said it. */
export interface DescribedModule {
  readonly code: EventCode;
  readonly events: ReadonlyMap<string, DescribedEvent>;
}

/** Asks modules, each once, what they define: inside the sandbox, since to ask is to run their code. */
export class DescribedEvents {
  readonly #describe: ExecutionTier['describe'];
  readonly #attempts: SharedAttempts<DescribedModule>;
  readonly #known = new Map<string, DescribedModule>();

  constructor(describe: ExecutionTier['describe'], clock: Clock) {
    this.#describe = describe;
    this.#attempts = new SharedAttempts(clock);
  }

  /** @param entry null: what the code itself says. @throws AttemptFailure, or the signal's reason */
  of(code: StoredCode, entry: string | null, signal: AbortSignal): DescribedModule | Promise<DescribedModule> {
    const key = `${code.digest} ${entry ?? ''}`;
    return this.#known.get(key) ?? this.#attempts.run(key, () => this.#ask(key, code, entry), signal);
  }

  /** What is known without asking. */
  known(digest: string, entry: string | null): ReadonlyMap<string, DescribedEvent> | null {
    return this.#known.get(`${digest} ${entry ?? ''}`)?.events ?? null;
  }

  async #ask(key: string, { digest, directory, files }: StoredCode, entry: string | null): Promise<DescribedModule> {
    const code = { digest, directory, entry: await entryModule({ directory, files }, entry) };
    const module = { code, events: checked(await this.#describe(code)) };
    this.#known.set(key, module);
    return module;
  }
}

/** Whatever process answered, code that nobody trusts ran in it. */
function checked(described: readonly DescribedEvent[]): ReadonlyMap<string, DescribedEvent> {
  if (described.length > EVENTS_PER_MODULE_MAX)
    throw new CodeFault(`it defines more than ${EVENTS_PER_MODULE_MAX} events`);
  const events = new Map<string, DescribedEvent>();
  for (const { name, timeout_secs, memory_mb, tier, idempotent } of described) {
    if (typeof name !== 'string' || !EVENT_NAME.test(name))
      throw new CodeFault('it defines an event whose name is none');
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

/** What the operator wrote of an event: within the bounds of the executor too, or the start fails. */
export interface DefinitionOverrides {
  tier: Tier | null;
  timeout_secs: number | null;
  memory_mb: number | null;
}

/** What is wrong with the operator's word; empty where nothing is. */
export function overrideFaults(overrides: DefinitionOverrides, bounds: DefinitionBounds): string[] {
  const faults: string[] = [];
  for (const name of ['timeout_secs', 'memory_mb'] as const) {
    const given = overrides[name];
    if (given !== null && given > bounds[name]) faults.push(`${name} is more than the executor's own ${bounds[name]}`);
  }
  const { tier } = overrides;
  if (tier !== null && TIERS.indexOf(tier) < TIERS.indexOf(bounds.tier)) {
    faults.push(`tier ${tier} is weaker than the executor's own ${bounds.tier}`);
  }
  return faults;
}

/**
 * What holds for an event: the operator's word; where there is none, what the code says of itself, as far as it asks for
 * less time or memory, or to be kept apart more strongly, than everything on this executor.
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
