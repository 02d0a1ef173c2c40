import { HeddleError } from '../../domain/errors.ts';
import type { ReportedFinding, ScanRun } from '../../domain/finding.ts';
import type { Database } from '../../store/database.ts';
import { findFinding, listFindings, listTargets } from '../../store/finding-reads.ts';
import {
  coverRun,
  deleteOldFindings,
  findRun,
  finishRun,
  insertRun,
  markGone,
  mergeFindings,
  triageFinding,
  type NumberedRun,
} from '../../store/findings.ts';
import { countTasksBefore, deleteOldChunks, findChunk, putChunk } from '../../store/scan-chunks.ts';
import type { Findings, ScanBooks } from './port.ts';

export interface FindingsOptions {
  database: Database;
  readonly newId: () => string;
  /** The moment that statements work with: null lets the database say, so that servers need not agree on the time. */
  readonly now?: () => string | null;
  /** How long what is gone is kept, and the books of old runs. */
  keepMs: number;
  /** How long what scans left behind waits to be merged: findings, and records of recon. */
  chunksMs: number;
}

/** Rows that one statement merges or marks. */
const CHUNK_ROWS = 1000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** The findings of one database. */
export function createFindings(options: FindingsOptions): Findings & ScanBooks {
  const { database, keepMs, chunksMs } = options;
  const now = options.now ?? (() => null);
  return {
    list: (filter, { after, limit }) => listFindings(database, filter, after, limit),
    get: (id) => findFinding(database, id),
    triage: (id, change) => triageFinding(database, id, change, now()),
    targets: (page) => listTargets(database, page),
    retain: async (limit) => {
      await deleteOldFindings(database, keepMs, limit, now());
      await deleteOldChunks(database, chunksMs, limit, now());
    },
    putChunk: (key, findings) => putChunk(database, key, findings, now()),
    readChunk: (key) => findChunk(database, key),
    countTasksBefore: (id, kinds) => countTasksBefore(database, id, kinds),
    beginRun: (id, target) => begin(options, id, target),
    merge: (id, findings) => merge(options, id, findings),
    finishRun: (id, complete) => finish(options, id, complete),
  };
}

async function begin(
  { database, now }: FindingsOptions,
  id: string,
  target: string,
): Promise<{ open: boolean; run: ScanRun }> {
  await database.transaction((tx) => insertRun(tx, id, target, now?.() ?? null));
  const { latest, ...run } = await requireRun(database, id);
  if (run.target !== target) {
    throw new HeddleError('CONFLICT', `The run ${id} is one of ${run.target}, not of ${target}`);
  }
  return { open: latest || run.ended_at === null, run };
}

async function merge({ database, newId }: FindingsOptions, id: string, findings: readonly ReportedFinding[]) {
  for (let at = 0; at < findings.length; at += CHUNK_ROWS) {
    const rows = distinct(findings.slice(at, at + CHUNK_ROWS)).map((finding) => ({ ...finding, id: newId() }));
    await mergeFindings(database, id, rows);
  }
}

/** One of each fingerprint, the first: a statement touches a row once. */
function distinct(findings: readonly ReportedFinding[]): ReportedFinding[] {
  const byFingerprint = new Map<string, ReportedFinding>();
  for (const finding of findings) {
    const known = byFingerprint.get(finding.fingerprint);
    if (known === undefined) byFingerprint.set(finding.fingerprint, finding);
    else if (known.occurrences < finding.occurrences) {
      byFingerprint.set(finding.fingerprint, { ...known, occurrences: finding.occurrences });
    }
  }
  return [...byFingerprint.values()];
}

/**
 * The covering run is written down first: from then on every run of the target, also one that was begun before and ends
 * later, marks what the covering one has missed.
 */
async function finish({ database, now }: FindingsOptions, id: string, complete: boolean): Promise<ScanRun> {
  if (complete) await coverRun(database, id);
  for (let after: string | null = FIRST_ID; after !== null;) after = await markGone(database, id, after, CHUNK_ROWS);
  await finishRun(database, id, complete, now?.() ?? null);
  const { latest: _, ...run } = await requireRun(database, id);
  return run;
}

async function requireRun(database: Database, id: string): Promise<NumberedRun> {
  const run = await findRun(database, id);
  if (run === null) throw new HeddleError('NOT_FOUND', `There is no run ${id}`);
  return run;
}
