import type { ReportedFinding } from '../../domain/finding.ts';
import { findFinding, findingRuns, listFindings } from '../../store/finding-reads.ts';
import { coverRun, finishRun, markGone, mergeFindings, triageFindings, verifyFindings } from '../../store/findings.ts';
import { deleteOldChunks, findChunk, putChunk } from '../../store/scan-chunks.ts';
import { countTasksBefore } from '../../store/tasks-before.ts';
import { BOOK_ROWS, RunRepository, type BooksOptions } from '../run-repository.ts';
import type { Findings, ScanBooks } from './port.ts';

export interface FindingsOptions extends BooksOptions {
  readonly newId: () => string;
  /** Retention of gone findings and of old runs. */
  keepMs: number;
  /** Retention of unmerged scan output: findings and recon records. */
  chunksMs: number;
}

/** Findings of one database. */
export function createFindings(options: FindingsOptions): Findings & ScanBooks {
  const { database, keepMs, chunksMs } = options;
  const now = options.now ?? (() => null);
  const runs = new RunRepository(options, findingRuns, { markGone, finish: finishRun });
  return {
    list: (filter, { after, limit }) => listFindings(database, filter, after, limit),
    get: (id) => findFinding(database, id),
    triage: (ids, change) => triageFindings(database, ids, change, now()),
    targets: (page) => findingRuns.targets(database, page),
    retain: async (limit) => {
      await findingRuns.deleteOld(database, keepMs, limit, now());
      await deleteOldChunks(database, chunksMs, limit, now());
    },
    putChunk: (key, findings) => putChunk(database, key, findings, now()),
    readChunk: (key) => findChunk(database, key),
    countTasksBefore: (id, kinds) => countTasksBefore(database, id, kinds),
    beginRun: (id, target) => runs.begin(id, target),
    merge: (id, findings) => merge(options, id, findings),
    verify: (target, findings) => verifyFindings(database, target, findings),
    finishRun: async (id, complete) => {
      if (complete) await coverRun(database, id);
      return runs.finish(id, complete);
    },
  };
}

async function merge({ database, newId }: FindingsOptions, id: string, findings: readonly ReportedFinding[]) {
  for (let at = 0; at < findings.length; at += BOOK_ROWS) {
    const rows = distinct(findings.slice(at, at + BOOK_ROWS)).map((finding) => ({ ...finding, id: newId() }));
    await mergeFindings(database, id, rows);
  }
}

/** Keeps the first finding of each fingerprint, since a statement may touch a row only once. */
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
