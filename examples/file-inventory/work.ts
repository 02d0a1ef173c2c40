/** The steps of the inventory. Each is called for one attempt of one task, and returns what its children need. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { BasicTaskDto } from '@heddle/client';
import {
  addMeasure,
  findFiles,
  hashFile,
  languageOf,
  measureFile,
  splitFiles,
  totalOf,
  type FoundFile,
  type Languages,
  type Measure,
  type Shard,
} from './files.ts';

/** One attempt of one task. */
export interface Job {
  /** The directory whose files are counted. */
  root: string;
  /** Directory for results that are too large for metadata. */
  directory: string;
  attempt: number;
  input: Record<string, unknown>;
  /** Aborts when the task is canceled or the service stops. */
  signal: AbortSignal;
  parents(): Promise<BasicTaskDto[]>;
  /** Reports progress to Heddle: files that could be read, and files that could not. */
  count(success: number, failures: number): Promise<void>;
  /** Pause, so that the example can be watched; none in tests. */
  pause(): Promise<void>;
}

export type Step = (job: Job) => Promise<Record<string, unknown>>;

export interface Duplicate {
  sha256: string;
  bytes: number;
  paths: string[];
}

export interface Report {
  root: string;
  total: Measure;
  languages: Languages;
  duplicates: Duplicate[];
  /** Outcome of the sample check, as a status of the API. */
  check: string;
}

type Hashes = Record<string, { sha256: string; bytes: number }>;

export const REPORT_FILE = 'report.json';
const FILES = 'files.json';
/** Parts of a shard after which progress is reported. */
const GROUPS = 10;
const SAMPLE = 20;

const shardFile = (index: number): string => join('shards', `${index}.json`);
const hashesFile = (index: number): string => join('hashes', `${index}.json`);

async function list(job: Job): Promise<Record<string, unknown>> {
  const files = await findFiles(job.root);
  await save(job, FILES, files);
  await job.pause();
  return { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

async function split(job: Job): Promise<Record<string, unknown>> {
  const shards = job.input['shards'] as Shard[];
  const files = splitFiles(await load<FoundFile[]>(job, FILES), shards);
  for (const [index, shard] of files.entries()) await save(job, shardFile(index), shard);
  await job.pause();
  return { shards: Object.fromEntries(shards.map(({ name }, index) => [name, files[index]!.length])) };
}

async function hash(job: Job): Promise<Record<string, unknown>> {
  const hashes: Hashes = {};
  const read = await forEachFile(job, async ({ path, bytes }) => {
    hashes[path] = { sha256: await hashFile(join(job.root, path)), bytes };
  });
  await save(job, hashesFile(job.input['shard'] as number), hashes);
  return { ...read, distinct: new Set(Object.values(hashes).map(({ sha256 }) => sha256)).size };
}

async function measure(job: Job): Promise<Record<string, unknown>> {
  const languages: Languages = {};
  const read = await forEachFile(job, async ({ path }) => {
    addMeasure(languages, languageOf(path), await measureFile(join(job.root, path)));
  });
  return { ...read, languages };
}

/** Reads the files of a shard, group by group, and reports progress after each. */
async function forEachFile(
  job: Job,
  read: (file: FoundFile) => Promise<void>,
): Promise<{ read: number; gone: number }> {
  const files = await load<FoundFile[]>(job, shardFile(job.input['shard'] as number));
  const size = Math.max(1, Math.ceil(files.length / GROUPS));
  let gone = 0;
  for (let start = 0; start < files.length; start += size) {
    job.signal.throwIfAborted();
    const group = files.slice(start, start + size);
    const failures = (await Promise.all(group.map((file) => readOrMiss(file, read)))).filter((missed) => missed).length;
    gone += failures;
    await job.count(group.length - failures, failures);
    await job.pause();
  }
  return { read: files.length - gone, gone };
}

/** Whether the file could not be read: it may have been removed since it was listed. */
async function readOrMiss(file: FoundFile, read: (file: FoundFile) => Promise<void>): Promise<boolean> {
  try {
    await read(file);
    return false;
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return true;
    throw error;
  }
}

/** Joins the two branches of a shard; their results came as metadata. */
async function sum(job: Job): Promise<Record<string, unknown>> {
  const parents = await job.parents();
  const languages = parents.map(({ metadata }) => metadata['languages']).find((found) => found !== undefined);
  const distinct = parents.map(({ metadata }) => metadata['distinct']).find((found) => found !== undefined);
  await job.pause();
  return { languages, distinct, total: totalOf(languages as Languages) };
}

async function duplicates(job: Job): Promise<Record<string, unknown>> {
  const byHash = new Map<string, Duplicate>();
  for (const [path, { sha256, bytes }] of Object.entries(await allHashes(job))) {
    const same = byHash.get(sha256) ?? { sha256, bytes, paths: [] };
    same.paths.push(path);
    byHash.set(sha256, same);
  }
  const found = [...byHash.values()].filter(({ paths, bytes }) => paths.length > 1 && bytes > 0);
  found.sort((a, b) => b.bytes * (b.paths.length - 1) - a.bytes * (a.paths.length - 1));
  await save(job, 'duplicates.json', found);
  await job.pause();
  return { groups: found.length, spare_bytes: found.reduce((all, d) => all + d.bytes * (d.paths.length - 1), 0) };
}

async function languages(job: Job): Promise<Record<string, unknown>> {
  const total: Languages = {};
  for (const { metadata } of await job.parents()) {
    for (const [language, found] of Object.entries(metadata['languages'] as Languages)) {
      addMeasure(total, language, found);
    }
  }
  await job.pause();
  return { languages: total };
}

/** Reads a sample again and compares. Its first attempt fails on purpose, to show a retry. */
async function check(job: Job): Promise<Record<string, unknown>> {
  await job.pause();
  if (job.attempt === 1) throw new Error('the first attempt fails on purpose; it will be retried');
  const hashes = Object.entries(await allHashes(job));
  const stride = Math.max(1, Math.floor(hashes.length / SAMPLE));
  const sample = hashes.filter((_entry, index) => index % stride === 0).slice(0, SAMPLE);
  const changed: string[] = [];
  for (const [path, { sha256 }] of sample) {
    const now = await hashFile(join(job.root, path)).catch(() => null);
    if (now !== sha256) changed.push(path);
  }
  return { sampled: sample.length, changed };
}

async function report(job: Job): Promise<Record<string, unknown>> {
  const parents = await job.parents();
  const found = parents.find(({ local_id }) => local_id === 'languages')!.metadata['languages'] as Languages;
  const written: Report = {
    root: job.root,
    total: totalOf(found),
    languages: found,
    duplicates: await load<Duplicate[]>(job, 'duplicates.json'),
    check: parents.find(({ local_id }) => local_id === 'check')!.status,
  };
  await save(job, REPORT_FILE, written);
  await job.pause();
  return { report: join(job.directory, REPORT_FILE), total: written.total };
}

async function allHashes(job: Job): Promise<Hashes> {
  const all: Hashes = {};
  for (let index = 0; index < (job.input['shards'] as number); index += 1) {
    Object.assign(all, await load<Hashes>(job, hashesFile(index)));
  }
  return all;
}

export async function load<T>(job: Pick<Job, 'directory'>, name: string): Promise<T> {
  return JSON.parse(await readFile(join(job.directory, name), 'utf8')) as T;
}

/** Atomic: a reader never sees a partial file. */
export async function save(job: Pick<Job, 'directory'>, name: string, value: unknown): Promise<void> {
  const path = join(job.directory, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`);
  await rename(`${path}.new`, path);
}

/** The steps by the last segment of their URL. */
export const STEPS: Readonly<Record<string, Step>> = {
  list,
  split,
  hash,
  measure,
  sum,
  duplicates,
  languages,
  check,
  report,
};
