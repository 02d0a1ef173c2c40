import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '@heddle/base/clock';
import type { LiveCounts } from '../../src/graph/live.ts';
import { SCAN_DEFAULTS, type ScanOptions } from '../../src/options.ts';
import type { Finding, Problem, ScanSummary } from '../../src/result.ts';
import { type ScanEnvironment, startScan } from '../../src/scan.ts';

/** One rule, so that threads start fast. */
const RULES = [
  {
    name: 'test.toml',
    toml: `
[[rules]]
id = "made-up-key"
description = "A key that only tests have"
regex = '''MADEUP-[0-9]{6}'''
keywords = ["madeup-"]
`,
  },
];

export interface Scanned {
  summary: ScanSummary;
  findings: Finding[];
  problems: Problem[];
}

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-scan-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

export function optionsFor(path: string, changes: Partial<ScanOptions> = {}): ScanOptions {
  return {
    ...SCAN_DEFAULTS,
    frontierCapacity: 256,
    sources: [{ type: 'path', path }],
    ruleTimeoutMs: 60_000,
    rules: RULES,
    threads: 2,
    ...changes,
  };
}

/** Scans, and asserts that no thread holds resources at the end. */
export async function scan(options: ScanOptions, environment: Partial<ScanEnvironment> = {}): Promise<Scanned> {
  const findings: Finding[] = [];
  const problems: Problem[] = [];
  const ends: LiveCounts[] = [];
  const summary = await startScan(
    options,
    { onFinding: (finding) => void findings.push(finding), onProblem: (problem) => void problems.push(problem) },
    // Small trees are for all threads too.
    { clock: systemClock, workBytesMin: 0, onThreadEnd: (live) => void ends.push(live), ...environment },
  );
  for (const live of ends) assert.deepEqual(live, { contexts: 0, references: 0, buffers: 0 });
  return { summary, findings, problems };
}

/** Returns `path:secret` of each finding, relative to the folder. */
export function places(findings: readonly Finding[], folder: string): string[] {
  return findings.map(({ path, secret }) => `${path.replace(`${folder}/`, '')}:${secret}`);
}

/** What does not depend on the number of threads. */
export function outcomeOf({ findings, problems, summary }: Scanned): string {
  const { objects_discovered, objects_completed, bytes_scanned } = summary.metrics;
  const { outcome } = summary;
  return JSON.stringify({ findings, problems, outcome, objects_discovered, objects_completed, bytes_scanned }, null, 1);
}
