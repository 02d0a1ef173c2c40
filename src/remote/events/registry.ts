import { resolve } from 'node:path';

import { HeddleError } from '../../domain/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
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
import { KeptRegistry } from './kept-registry.ts';
import type { EventRegistry } from './port.ts';
import { Registrations } from './registrations.ts';
import { registerDirectory, registerEntries } from './start-up.ts';

export interface EventRegistryOptions {
  /** The list of events: the path of its file, or the list itself; null where there is none. */
  eventList: string | null;
  /** A directory whose modules are all events; null where there is none. */
  eventsDirectory: string | null;
  /** Where code is kept, by digest: made where it is not there, and cleared of what is no longer listed. */
  codeDirectory: string;
  /** Loads code and asks it what it defines, within the executor's tier; answered once for each module. */
  describe: ExecutionTier['describe'];
  /** The executor's own settings: what code says of itself can lower these times and sizes, and strengthen the tier. */
  bounds: DefinitionBounds;
  /** Seconds after which pulled code that nobody uses is deleted; 120 by default. */
  ephemeralTtlSecs?: number;
  /** What becomes of code in which the static scan finds something; `report` by default. */
  codeScan?: 'off' | 'report' | 'refuse';
  /** Where npm packages come from unless an entry says otherwise; https://registry.npmjs.org by default. */
  npmRegistry?: string;
  /** Schemes of git URLs where the list itself names none (`git_protocols`); https alone by default. */
  gitProtocols?: readonly GitProtocol[];
  /** `PATH` in which `git` is looked for; /usr/local/bin:/usr/bin:/bin by default. */
  searchPath?: string;
  /** Bounds of what one pull may bring. */
  limits?: Partial<CodeLimits>;
  clock: Clock;
  log: Logger;
  audit: Pick<AuditLog, 'append'>;
  /** Called for each pull of ephemeral code that succeeded. */
  onPull?: (source: EventSummary['source']) => void;
}

const EPHEMERAL_TTL_SECS = 120;
const NPM_REGISTRY = 'https://registry.npmjs.org';
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * Reads the list of events, copies local ones into the store and learns their names; packages and repositories are
 * fetched when they are first asked for.
 *
 * @throws HeddleError VALIDATION_FAILED, each detail naming an entry and what is wrong with it
 */
export async function openEventRegistry(options: EventRegistryOptions): Promise<EventRegistry> {
  const { clock, log, audit, codeScan = 'report', onPull = () => undefined } = options;
  const { npmRegistry = NPM_REGISTRY, gitProtocols = ['https'], searchPath = SEARCH_PATH } = options;
  const fault = registryFault(npmRegistry);
  if (fault !== null) throw new HeddleError('VALIDATION_FAILED', undefined, { details: [`the npm registry ${fault}`] });
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
  return new KeptRegistry({ ...up, ttlMs, clock, log, audit });
}
