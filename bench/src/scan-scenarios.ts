import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SubjectName } from './registry.ts';
import type { Measurement } from './results.ts';
import { generateHistory } from './scan/generate-history.ts';
import { generateTree } from './scan/generate-tree.ts';
import { writeRuleSet, type RuleSet } from './scan/rule-sets.ts';
import type { Participant, Scenario } from './scenario.ts';
import type { ScanRequest, ScanRun } from './subject.ts';

const MEGABYTE = 1_000_000;

/** Kept between runs, because writing it takes longer than scanning it. */
const HOME = join(tmpdir(), 'heddle-bench-trees');

/** What is scanned. */
interface Material {
  directory: string;
  /** Rates are by these. */
  bytes: number;
  planted: readonly string[];
}

/** A tree with a secret for each megabyte; its bytes are those on disk, which every subject has to read. */
async function tree(bytes: number): Promise<Material> {
  const { directory, manifest } = await generateTree({ directory: HOME, bytes, secrets: bytes / MEGABYTE });
  keepInMemory(directory);
  return { directory, bytes: manifest.file_bytes, planted: manifest.planted.map(({ secret }) => secret) };
}

/** A repository; its bytes are those of all versions of its files. */
async function history(commits: number): Promise<Material> {
  const { repository, blob_bytes, planted } = await generateHistory({ directory: HOME, commits });
  keepInMemory(repository);
  return { directory: repository, bytes: blob_bytes, planted };
}

/** Measures scanning, not the disk. */
function keepInMemory(directory: string): void {
  spawnSync('find', [directory, '-type', 'f', '-exec', 'cat', '{}', '+'], { stdio: 'ignore' });
}

function measurements(bench: string, run: ScanRun, { bytes }: Material): Measurement[] {
  const megabytes = bytes / MEGABYTE;
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
  /** Whether the history of a repository is scanned. */
  history?: boolean;
  /** Rules of Heddle and gitleaks, and equivalent patterns for subjects without rules. */
  rules: () => Pick<ScanRequest, 'rules' | 'patterns'>;
  subjects: readonly SubjectName[];
}

function scenario(one: Case, make: () => Promise<Material>): Scenario {
  const { bench, threads, plain, subjects } = one;
  let made: Promise<Material> | undefined;
  // When the first subject starts: runs of other benches need none.
  const material = (): Promise<Material> => (made ??= make());
  const participant = (subject: SubjectName): Participant => ({
    label: subject === 'heddle-scan' ? 'heddle' : subject,
    subject,
    async warmUp() {
      await material();
    },
    async round(client) {
      const scanned = await material();
      const { directory, planted } = scanned;
      const request = { directory, history: one.history === true, threads, plain, planted, ...one.rules() };
      return measurements(bench, await client.scan(request), scanned);
    },
  });
  return { benches: [bench], rounds: 3, participants: subjects.map(participant) };
}

/** Not gitleaks, which takes more than 400 s for the tree. */
const WITH_RULES: readonly SubjectName[] = ['heddle-scan', 'ripgrep'];

/** Scanners on one generated tree, and on one history, with planted secrets, each as a complete command. */
export function scanScenarios(quick: boolean): Scenario[] {
  const bytes = (quick ? 64 : 1000) * MEGABYTE;
  const commits = quick ? 400 : 6000;
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
  const git: Case = {
    bench: 'scan/git-history',
    threads: 2,
    plain: false,
    history: true,
    rules: many,
    subjects: ['heddle-scan', 'gitleaks'],
  };
  return [...cases.map((one) => scenario(one, () => tree(bytes))), scenario(git, () => history(commits))];
}
