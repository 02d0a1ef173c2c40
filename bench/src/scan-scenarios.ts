import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SubjectName } from './registry.ts';
import type { Measurement } from './results.ts';
import { generateTree, type TreeManifest } from './scan/generate-tree.ts';
import { writeRuleSet, type RuleSet } from './scan/rule-sets.ts';
import type { Participant, Scenario } from './scenario.ts';
import type { ScanRequest, ScanRun } from './subject.ts';

const MEGABYTE = 1_000_000;

/** Kept between runs, because writing it takes longer than scanning it. */
const HOME = join(tmpdir(), 'heddle-bench-trees');

interface Tree {
  directory: string;
  manifest: TreeManifest;
}

function tree(bytes: number): Tree {
  mkdirSync(HOME, { recursive: true });
  const made = generateTree({ directory: HOME, bytes });
  // Measures scanning, not the disk.
  spawnSync('find', [made.directory, '-type', 'f', '-exec', 'cat', '{}', '+'], { stdio: 'ignore' });
  return made;
}

/** Rates by bytes on disk, which every subject has to read. */
function measurements(bench: string, run: ScanRun, { manifest }: Tree): Measurement[] {
  const megabytes = manifest.file_bytes / MEGABYTE;
  const found = run.found === undefined ? [] : [{ bench, metric: 'planted_found', value: run.found }];
  return [
    { bench, metric: 'mb_per_s', value: megabytes / (run.wall_ms / 1000) },
    { bench, metric: 'mb_per_cpu_s', value: megabytes / (run.cpu_ms / 1000) },
    { bench, metric: 'peak_mib', value: run.peak_mib },
    ...found,
  ];
}

interface Case {
  bench: string;
  threads: number;
  plain: boolean;
  /** Rules of Heddle and gitleaks, and equivalent patterns for subjects without rules. */
  rules: () => Pick<ScanRequest, 'rules' | 'patterns'>;
  subjects: readonly SubjectName[];
}

function scenario({ bench, threads, plain, rules, subjects }: Case, bytes: number): Scenario {
  // Created when the first subject starts: runs of other benches need no tree.
  let scanned: Tree | undefined;
  const request = (): ScanRequest => {
    scanned ??= tree(bytes);
    const planted = scanned.manifest.planted.map(({ secret }) => secret);
    return { directory: scanned.directory, threads, plain, planted, ...rules() };
  };
  const participant = (subject: SubjectName): Participant => ({
    label: subject === 'heddle-scan' ? 'heddle' : subject,
    subject,
    async warmUp() {
      request();
      return Promise.resolve();
    },
    async round(client) {
      return measurements(bench, await client.scan(request()), scanned!);
    },
  });
  return { benches: [bench], rounds: 3, participants: subjects.map(participant) };
}

const WITH_RULES: readonly SubjectName[] = ['heddle-scan', 'ripgrep', 'gitleaks'];

/** Scanners on one generated tree with planted secrets, each as a complete command. */
export function scanScenarios(quick: boolean): Scenario[] {
  const bytes = (quick ? 64 : 1000) * MEGABYTE;
  const sets = new Map<number, RuleSet>();
  const set = (count: number): RuleSet => {
    mkdirSync(HOME, { recursive: true });
    if (!sets.has(count)) sets.set(count, writeRuleSet(HOME, count));
    return sets.get(count)!;
  };
  const few = () => ({ rules: set(7).path, patterns: set(7).regexes });
  const many = () => ({ rules: set(221).path, patterns: set(221).keywords });
  const builtIn = () => ({ rules: 'built-in', patterns: set(221).keywords });
  const cases: Case[] = [
    { bench: 'scan/7-rules', threads: 1, plain: true, rules: few, subjects: WITH_RULES },
    { bench: 'scan/221-rules', threads: 1, plain: false, rules: many, subjects: [...WITH_RULES, 'secretlint'] },
    { bench: 'scan/221-rules-2-threads', threads: 2, plain: false, rules: many, subjects: WITH_RULES },
    { bench: 'scan/built-in-rules', threads: 2, plain: false, rules: builtIn, subjects: ['heddle-scan'] },
  ];
  return cases.map((one) => scenario(one, bytes));
}
