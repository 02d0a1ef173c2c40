import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { AuditLog } from '../audit/port.ts';
import type { DescribedEvent } from '../execution/port.ts';
import { RemoteFailure } from '../protocol/codes.ts';
import { CodeFault } from './code-fault.ts';
import type { CodeIndex } from './code-index.ts';
import type { CodeOrigin } from './code-origin.ts';
import type { CodePulls } from './code-pulls.ts';
import type { CodeStore, StoredCode } from './code-store.ts';
import { type DefinitionBounds, definitionWithin, type DescribedEvents } from './described-events.ts';
import type { EventRegistry, ResolvedEvent } from './port.ts';
import type { Registration, Registrations } from './registrations.ts';
import { missingEventMessage } from './start-up.ts';
import { unavailable } from './unavailable.ts';

/** Attempts to get code that is evicted between pull and use, or damaged repeatedly. */
const TRIES_MAX = 3;
const SWEEP_MS_MAX = 5_000;

export interface StoreBackedRegistryOptions {
  registrations: Registrations;
  store: CodeStore;
  index: CodeIndex;
  pulls: CodePulls;
  described: DescribedEvents;
  bounds: DefinitionBounds;
  ttlMs: number;
  clock: Clock;
  log: Logger;
  audit: Pick<AuditLog, 'append'>;
}

interface HeldCode {
  readonly code: StoredCode;
  readonly release: () => void;
}

/** Event registry backed by a store: finds code by event name, fetches it on demand and evicts idle code. */
export class StoreBackedRegistry implements EventRegistry {
  readonly #options: StoreBackedRegistryOptions;
  readonly #definitions = new Map<string, DescribedEvent>();
  readonly #sweeps: Loop;

  constructor(options: StoreBackedRegistryOptions) {
    this.#options = options;
    const { clock, log, ttlMs } = options;
    this.#sweeps = new Loop({
      name: 'events eviction',
      intervalMs: Math.min(SWEEP_MS_MAX, ttlMs / 4),
      clock,
      log,
      runOnce: () => this.#evictIdle(),
    });
    this.#sweeps.start();
  }

  has(name: string): boolean {
    return this.#options.registrations.get(name) !== undefined;
  }

  names(): readonly string[] {
    return this.#options.registrations.names();
  }

  peek(name: string): ReturnType<EventRegistry['peek']> {
    const registration = this.#options.registrations.get(name);
    if (registration === undefined) return null;
    const { digest, sha256, source } = registration.origin;
    return { digest: digest ?? sha256, source: source.kind, definition: this.#definitionKnown(registration) };
  }

  async resolve(name: string, signal: AbortSignal): Promise<ResolvedEvent> {
    const registration = this.#options.registrations.get(name);
    if (registration === undefined)
      throw new RemoteFailure('EVENT_NOT_REGISTERED', 'No event of this name is registered');
    try {
      return await this.#resolve(registration, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw unavailable(name, error);
    }
  }

  async close(): Promise<void> {
    await this.#sweeps.stop();
    await this.#options.pulls.close();
  }

  async #resolve(registration: Registration, signal: AbortSignal): Promise<ResolvedEvent> {
    const { name, origin, entry } = registration;
    const { code, release } = await this.#hold(registration, signal);
    try {
      const module = await this.#options.described.of(code, entry, signal);
      const definition = this.#definitions.get(name) ?? this.#define(registration, module.events);
      return { name, code: module.code, definition, source: origin.source.kind, [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #define(registration: Registration, events: ReadonlyMap<string, DescribedEvent>): DescribedEvent {
    const { name, overrides } = registration;
    const described = events.get(name);
    if (described === undefined) throw new CodeFault(missingEventMessage(name, [...events.keys()]));
    const definition = definitionWithin(described, overrides, this.#options.bounds);
    this.#definitions.set(name, definition);
    return definition;
  }

  #definitionKnown(registration: Registration): DescribedEvent | null {
    const known = this.#definitions.get(registration.name);
    if (known !== undefined) return known;
    const { digest } = registration.origin;
    const events = digest === null ? null : this.#options.described.known(digest, registration.entry);
    return events?.has(registration.name) === true ? this.#define(registration, events) : null;
  }

  /** Returns the verified code, held in the store; fetches it if necessary. */
  async #hold(registration: Registration, signal: AbortSignal): Promise<HeldCode> {
    const { store, pulls } = this.#options;
    const { name, origin } = registration;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const held = await this.#holdStored(origin);
      if (held !== null) return held;
      const code = await pulls.pull(origin, name, signal);
      await this.#remember(origin, code.digest);
      const release = store.hold(code.digest);
      if (release !== null) return { code, release };
    }
    throw new CodeFault('its code was repeatedly removed from the store');
  }

  async #holdStored({ digest, source }: CodeOrigin): Promise<HeldCode | null> {
    const { store, log } = this.#options;
    const code = digest === null ? null : store.find(digest);
    if (code === null) return null;
    if (await store.isSound(code.digest)) {
      const release = store.hold(code.digest);
      return release === null ? null : { code, release };
    }
    log.error({ digest, directory: code.directory }, `code of ${source.label} was changed on disk; discarding it`);
    await store.discard(code.digest);
    return null;
  }

  /** Records the digest for the next start; unrecorded code is fetched again. */
  async #remember(origin: CodeOrigin, digest: string): Promise<void> {
    if (origin.ephemeral || origin.source.kind === 'local') return;
    await this.#options.index.set(origin.key, digest).catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'could not write the code index');
    });
  }

  async #evictIdle(): Promise<'idle'> {
    const { store, ttlMs, registrations, audit, log } = this.#options;
    const gone = new Set(await store.evictIdle(ttlMs));
    if (gone.size === 0) return 'idle';
    for (const { name, origin } of registrations.all()) {
      if (origin.digest === null || !gone.has(origin.digest)) continue;
      audit.append({ action: 'evicted', event_name: name, source: origin.source.kind, digest: origin.digest });
      log.info({ event_name: name, digest: origin.digest }, 'deleted idle code');
    }
    return 'idle';
  }
}
