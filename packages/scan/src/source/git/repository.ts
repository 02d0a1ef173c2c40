import { createHash } from 'node:crypto';
import type { SourceSpec } from '../../options.ts';
import { runGit } from './command.ts';
import { findUnreachable } from './unreachable.ts';

export type GitSpec = Extract<SourceSpec, { type: 'git' }>;

/** What to list, in ids and timestamps: independent of the current date. */
export interface Selection {
  /** As in `git rev-list`: ids, some with `^` before them. */
  revisions: readonly string[];
  /** Ids of blobs of no commit. */
  blobs: readonly string[];
  /** Seconds since the epoch; earlier commits are excluded. */
  since: number | null;
}

export interface RepositoryFacts {
  /** Hexadecimal digits of an object id: 40 or 64. */
  digits: number;
  is_shallow: boolean;
}

/** Returns properties of the repository; rejects if it is none. */
export async function inspectRepository(repository: string): Promise<RepositoryFacts> {
  if (repository === '' || repository.includes('\0')) throw new Error('git: name a repository');
  const args = ['rev-parse', '--show-object-format', '--is-shallow-repository'];
  const [format, shallow] = (await runGit(repository, args)).toString().split('\n');
  return { digits: format === 'sha256' ? 64 : 40, is_shallow: shallow === 'true' };
}

/** Resolves revisions and times to ids and seconds. */
export async function resolveSelection(spec: GitSpec): Promise<Selection> {
  const { repository, revisions = [], since, unreachable = false } = spec;
  const reached = revisions.length === 0 ? await allRevisions(repository) : await namedRevisions(repository, revisions);
  const others = unreachable ? await findUnreachable(repository) : { revisions: [], blobs: [] };
  return {
    revisions: [...reached, ...others.revisions],
    blobs: others.blobs,
    since: since === undefined ? null : await resolveTime(repository, since),
  };
}

/** Returns a digest of the selection; a different one means a different list. */
export function digestOf({ revisions, blobs }: Selection): string {
  return createHash('sha256')
    .update([...revisions, ...blobs].join('\n'))
    .digest('hex')
    .slice(0, 32);
}

/** Returns every reference, and HEAD if it is detached. */
async function allRevisions(repository: string): Promise<string[]> {
  const listed = linesOf(await runGit(repository, ['rev-parse', '--all']));
  const head = await runGit(repository, ['rev-parse', '--quiet', '--verify', 'HEAD^{commit}']).catch(() => '');
  return [...new Set([...listed, ...linesOf(head)])];
}

async function namedRevisions(repository: string, revisions: readonly string[]): Promise<string[]> {
  const option = revisions.find((revision) => revision.startsWith('-'));
  if (option !== undefined) throw new Error(`git: ${option} is an option, not a revision; give branches, tags or ids`);
  if (revisions.some((revision) => /[\0\n]/.test(revision) || revision === ''))
    throw new Error('git: a revision is empty or contains invalid characters');
  return linesOf(await runGit(repository, ['rev-parse', '--revs-only', ...revisions, '--']));
}

async function resolveTime(repository: string, since: string): Promise<number> {
  if (since.includes('\0') || since.trim() === '') throw new Error('git: since is empty');
  const said = linesOf(await runGit(repository, ['rev-parse', '--since=now', `--since=${since}`, '--since=now']));
  const [before, seconds, after] = said.map((line) => Number(/^--max-age=(\d+)$/.exec(line)?.[1]));
  // Git accepts any string as a time, and treats what it does not understand as now.
  const isNow = seconds! >= before! && seconds! <= after!;
  if (!Number.isSafeInteger(seconds) || isNow)
    throw new Error(`git does not understand since '${since}'; give a date such as 2025-01-31 or '2 weeks ago'`);
  return seconds!;
}

function linesOf(text: Buffer | string): string[] {
  return text
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}
