import { BaseManager } from './base-manager.ts';
import { ClientTaskRegistry } from './client-task-registry.ts';
import { Closing } from './closing.ts';
import type { ManagerContext } from './context.ts';
import { correlationIds } from './correlation-id.ts';
import { DeadlineWheel } from './deadline-wheel.ts';
import { directoryFiles } from './journal/directory-files.ts';
import { Journal } from './journal/journal.ts';
import { readJournal, type FoundJournal } from './journal/recovery.ts';
import type { JournalFiles } from './journal/files.ts';
import { Segments } from './journal/segments.ts';
import { withDefaults, type RemoteManagerOptions } from './options.ts';
import type { RemoteManager } from './port.ts';
import { Quarantine } from './quarantine.ts';
import { recoverTasks } from './steps/recover.ts';
import { ByteStore } from './stored-bytes.ts';
import { Throughput } from './throughput.ts';

export interface OpenRemoteManager extends RemoteManager {
  /** Rejects new tasks and starts none; resolves when the running ones have ended, or after `ms`. */
  drain(ms: number): Promise<void>;
  /**
   * Stops immediately: running tasks are interrupted, waiting ones stay in the journal, and waiting callers get a
   * pending response. Does not close the resources passed to the manager.
   */
  close(): Promise<void>;
}

/** Number of segments in a full journal. */
const SEGMENTS = 32;
const SEGMENT_BYTES_MAX = 32 * 1_048_576;

/** Opens the journal, recovers its tasks and accepts requests. @throws any error from reading or writing the journal */
export async function createRemoteManager(options: RemoteManagerOptions): Promise<OpenRemoteManager> {
  const files = options.journalFiles ?? (await directoryFiles(options.journalDirectory));
  const found = await readJournal(files, options.log);
  const context = createContext(options, files, found);
  if (!context.tiers.has(context.settings.tier)) throw new Error(`the tier ${context.settings.tier} is not open`);
  const manager = new BaseManager(context);
  await recoverTasks(context, manager.dispatcher, found.lives);
  manager.start();
  return manager;
}

function createContext(options: RemoteManagerOptions, files: JournalFiles, found: FoundJournal): ManagerContext {
  const { clock, log, random } = options;
  const settings = withDefaults(options.settings);
  const { journalBytesMax: bytesMax, journalSync: sync } = settings;
  const segmentBytes = Math.min(SEGMENT_BYTES_MAX, Math.ceil(bytesMax / SEGMENTS));
  const journal = new Journal({ clock, log }, new Segments(files, { segmentBytes, sync }, found.segments));
  return {
    options,
    settings,
    tiers: new Map(options.tiers.map((tier) => [tier.tier, tier])),
    tasks: new ClientTaskRegistry(clock),
    journal,
    bytes: new ByteStore(journal),
    quarantine: new Quarantine(clock),
    throughput: new Throughput(clock),
    waits: new DeadlineWheel(clock),
    closing: new Closing(),
    newCorrelationId: correlationIds(random),
  };
}
