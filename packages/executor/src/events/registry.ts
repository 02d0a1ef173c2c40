import { resolve } from 'node:path';

import { HeddleError } from '@heddle/base/errors';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { AuditLog } from '../audit/port.ts';
import type { ExecutionTier } from '../execution/port.ts';
import type { EventSummary } from '../protocol/messages.ts';
import { CodeIndex } from './code-index.ts';
import { CODE_LIMITS, type CodeLimits } from './code-limits.ts';
import { CodePulls } from './code-pulls.ts';
import { CodeStore } from './code-store.ts';
import type { EventEntry } from './config/event-entry.ts';
import { type GitProtocol, readEntries } from './config/read-entries.ts';
import { registryFault } from './config/read-origin.ts';
import { type DefinitionBounds, DescribedEvents } from './described-events.ts';
import { StoreBackedRegistry } from './store-backed-registry.ts';
import type { EventRegistry } from './port.ts';
import { Registrations } from './registrations.ts';
import { registerDirectory, registerEntries } from './start-up.ts';

export interface EventRegistryOptions {
  /** Event list: path of a file, or inline JSON; null for none. */
  eventList: string | null;
  /** Directory whose modules all define events; null for none. */
  eventsDirectory: string | null;
  /** Directory of the code store; created if missing, and cleared of code that is no longer listed. */
  codeDirectory: string;
  /** Loads a module in the sandbox and returns its definitions; called once per module. */
  describe: ExecutionTier['describe'];
  /** Executor limits: code can lower time and memory and strengthen the tier. */
  bounds: DefinitionBounds;
  /** Idle time before pulled code is evicted, seconds; default 120. */
  ephemeralTtlSecs?: number;
  /** Action on findings of the static scan; default `report`. */
  codeScan?: 'off' | 'report' | 'refuse';
  /** Default npm registry; https://registry.npmjs.org. */
  npmRegistry?: string;
  /** Allowed schemes of git URLs unless the list sets `git_protocols`; default https only. */
  gitProtocols?: readonly GitProtocol[];
  /** `PATH` searched for `git`; default /usr/local/bin:/usr/bin:/bin. */
  searchPath?: string;
  /** Limits of a pull. */
  limits?: Partial<CodeLimits>;
  clock: Clock;
  log: Logger;
  audit: Pick<AuditLog, 'append'>;
  /** Called after each successful pull of ephemeral code. */
  onPull?: (source: EventSummary['source']) => void;
}

const EPHEMERAL_TTL_SECS = 120;
const NPM_REGISTRY = 'https://registry.npmjs.org';
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * Reads the event list and copies local events into the store; packages and repositories are fetched on first use.
 *
 * @throws HeddleError VALIDATION_FAILED with one detail per fault, naming the entry
 */
export async function openEventRegistry(options: EventRegistryOptions): Promise<EventRegistry> {
  const { clock, log, audit, codeScan = 'report', onPull = () => undefined } = options;
  const { npmRegistry = NPM_REGISTRY, gitProtocols = ['https'], searchPath = SEARCH_PATH } = options;
  const fault = registryFault(npmRegistry);
  if (fault !== null) throw new HeddleError('VALIDATION_FAILED', undefined, { details: [`npm registry: ${fault}`] });
  const entries: EventEntry[] =
    options.eventList === null ? [] : await readEntries(options.eventList, { gitProtocols });
  const codeDirectory = resolve(options.codeDirectory);
  const limits = { ...CODE_LIMITS, ...options.limits };
  const store = await CodeStore.open(codeDirectory, clock);
  const index = await CodeIndex.open(codeDirectory);
  const pulls = new CodePulls({ store, limits, codeScan, clock, log, audit, onPull });
  const described = new DescribedEvents(options.describe, clock);
  const registrations = new Registrations();
  const signal = new AbortController().signal;
  const { bounds } = options;
  const up = { registrations, store, index, pulls, described, bounds, signal };
  await registerEntries(entries, { clock, npmRegistry, searchPath }, up);
  if (options.eventsDirectory !== null) await registerDirectory(resolve(options.eventsDirectory), up);
  registrations.requireFaultless();
  await store.clearOthers();
  await index.keepOnly(new Set([...registrations.all()].map(({ origin }) => origin.key)));
  const ttlMs = (options.ephemeralTtlSecs ?? EPHEMERAL_TTL_SECS) * 1_000;
  return new StoreBackedRegistry({ ...up, ttlMs, clock, log, audit });
}
