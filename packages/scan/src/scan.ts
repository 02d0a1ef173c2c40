import { HeddleError } from '@heddle/base/errors';
import { messageOf } from '@heddle/base/thrown';
import { ScanRun } from './coordinator/scan-run.ts';
import type { ScanEnvironment, ScanObserver } from './coordinator/observer.ts';
import { type Checkpoint, StateJournal } from './coordinator/state-journal.ts';
import type { StartWorker } from './coordinator/worker-thread.ts';
import type { CompiledRules } from './detect/packed-rules.ts';
import { rulesOfScan } from './detect/rules-of-scan.ts';
import { emptyMetrics } from './graph/metrics.ts';
import { BUFFER_LEN_MAX } from './graph/limits.ts';
import type { ScanOptions, SourceSpec } from './options.ts';
import { pathFilter } from './path-filter.ts';
import type { ScanSummary } from './result.ts';
import type { VerifyOptions } from './verify/options.ts';
import { openSource } from './source/open-source.ts';
import type { ObjectSource } from './source/port.ts';

export type { ScanEnvironment, ScanObserver } from './coordinator/observer.ts';

/**
 * Scans the sources. Findings and problems go to the observer in the order of the objects; the summary is returned.
 * Rejects with VALIDATION_FAILED if the options, a source or a rule set cannot be used, and with any error of the
 * observer; an object that cannot be scanned is a problem, not a rejection.
 */
export async function startScan(
  options: ScanOptions,
  observer: ScanObserver,
  environment: ScanEnvironment,
): Promise<ScanSummary> {
  const startedAt = environment.clock.monotonic();
  checkOptions(options);
  const rules = await rulesOfScan(options);
  const journal = environment.statePath === undefined ? null : StateJournal.open(environment.statePath, options);
  const sources: ObjectSource[] = [];
  let verifying: VerifyingPart | null = null;
  try {
    if (options.verify !== null) verifying = await verifyingPart(options.verify, rules, observer, environment, journal);
    await openSources(options, sources);
    const run = new ScanRun(
      options,
      rules,
      sources,
      verifying?.observer ?? observer,
      environment,
      journal,
      journal?.checkpoint ?? initialCheckpoint(),
      await localWorker(options, environment),
    );
    if (journal !== null) await run.replay(journal.replay());
    return await run.run(startedAt);
  } finally {
    await verifying?.close();
    for (const source of sources) await source.close();
    journal?.close();
  }
}

/** Sources on this machine, which a scan reads about as fast as it searches them. */
const LOCAL_SOURCES: readonly SourceSpec['type'][] = ['path', 'list', 'staged', 'diff', 'git'];

/** The code of workers is loaded in this thread only if one works here. */
async function localWorker(
  { sources }: ScanOptions,
  { usesOwnThread = false }: ScanEnvironment,
): Promise<StartWorker | undefined> {
  if (!usesOwnThread || !sources.every(({ type }) => LOCAL_SOURCES.includes(type))) return undefined;
  return (await import('./coordinator/local-worker.ts')).startLocalWorker;
}

interface VerifyingPart {
  observer: ScanObserver;
  close: () => Promise<void>;
}

/** Puts the verification of secrets before an observer; its code is loaded for scans that verify only. */
async function verifyingPart(
  options: VerifyOptions,
  rules: CompiledRules,
  observer: ScanObserver,
  { clock, signal }: ScanEnvironment,
  journal: StateJournal | null,
): Promise<VerifyingPart> {
  const { openVerifier, VerifyingObserver } = await import('./verify/open-verifier.ts');
  const closing = new AbortController();
  const verifier = openVerifier(options, rules, {
    clock,
    signal: signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]),
    known: journal?.verifications ?? new Map(),
    record: (key, verification) => {
      if (!closing.signal.aborted) journal?.verified(key, verification);
    },
  });
  const close = async (): Promise<void> => {
    closing.abort();
    await verifier.close();
  };
  return { observer: new VerifyingObserver(observer, verifier), close };
}

function initialCheckpoint(): Checkpoint {
  return { position: { source: 0, cursor: 'start' }, next_index: 0, metrics: emptyMetrics() };
}

async function openSources({ sources, exclude }: ScanOptions, opened: ObjectSource[]): Promise<void> {
  const passes = pathFilter({ include: [], exclude });
  for (const spec of sources) opened.push(await openOne(spec, (path) => !passes(path)));
}

async function openOne(spec: SourceSpec, prune: (path: string) => boolean): Promise<ObjectSource> {
  try {
    return await openSource(spec, { prune });
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    const message = messageOf(error);
    throw new HeddleError('VALIDATION_FAILED', message, { cause: error });
  }
}

function checkOptions(options: ScanOptions): void {
  const { threads, frontierCapacity, chunkBytes, archives, objectBytesMax } = options;
  const nested = archives.enabled ? archives.depthMax : 0;
  const details = [
    ...outside('threads', threads, 1, 1024),
    ...outside('frontierCapacity', frontierCapacity, nested + 1, 2 ** 20),
    ...outside('chunkBytes', chunkBytes, 1, BUFFER_LEN_MAX),
    ...outside('objectBytesMax', objectBytesMax, 0, Number.MAX_SAFE_INTEGER),
  ];
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', details.join('; '), { details });
}

function outside(field: string, value: number, min: number, max: number): string[] {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return [];
  return [`${field}: must be between ${min} and ${max}`];
}
