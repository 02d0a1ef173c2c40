/** The kinds of the survey: a generator that lists files, tasks that measure them, and an aggregator. */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { defineKind, into, task } from '@heddle/kit';
import { addMeasure, findFiles, hashFile, languageOf, measureFile, totalOf } from '../file-inventory/files.ts';
import type { Languages, Measure } from '../file-inventory/files.ts';
import { shape } from './input.ts';
import { MEASURES } from './workflow.ts';

/** Files that one task measures. */
const FILES_A_TASK = 20;
const LARGEST_SHOWN = 5;
/** Pause before each part of the work, so that it can be watched, milliseconds. */
const PACE_MS = 900;

interface MeasuredFile {
  path: string;
  bytes: number;
  sha256: string;
}

export interface MeasuredBatch {
  languages: Languages;
  largest: MeasuredFile[];
}

export interface SurveyReport {
  total: Measure;
  languages: Languages;
  largest: MeasuredFile[];
}

/** Keyed by the first file of each batch: a second run of this generator creates the same tasks. */
const list = defineKind({
  name: 'survey.list',
  input: shape({ root: 'text' }),
  generator: true,
  timeout_secs: 300,
  retry: { max_attempts: 3 },
  async *run({ root }) {
    const files = await findFiles(root);
    for (let at = 0; at < files.length; at += FILES_A_TASK) {
      const paths = files.slice(at, at + FILES_A_TASK).map(({ path }) => path);
      const name = paths.length === 1 ? paths[0]! : `${paths[0]} and ${paths.length - 1} more`;
      yield into(MEASURES, task(measure, { root, paths }, { key: paths[0]!, name: name.slice(0, 200) }));
    }
  },
});

const measure = defineKind({
  name: 'survey.measure',
  input: shape({ root: 'text', paths: 'texts' }),
  timeout_secs: 300,
  retry: { max_attempts: 3 },
  async run({ root, paths }, { progress, signal }): Promise<MeasuredBatch> {
    const languages: Languages = {};
    const measured: MeasuredFile[] = [];
    await setTimeout(PACE_MS, undefined, { signal });
    for (const path of paths) {
      signal.throwIfAborted();
      const file = join(root, path);
      const found = await measureFile(file).catch(unlessGone);
      if (found === null) continue;
      addMeasure(languages, languageOf(path), found);
      measured.push({ path, bytes: found.bytes, sha256: await hashFile(file) });
    }
    await progress(measured.length, paths.length - measured.length);
    return { languages, largest: largestOf(measured) };
  },
});

/** Reads the results as a stream, so that their number does not matter. */
const total = defineKind({
  name: 'survey.total',
  timeout_secs: 300,
  async run(_input, { results }): Promise<SurveyReport> {
    const languages: Languages = {};
    let largest: MeasuredFile[] = [];
    for await (const { kind, data } of results<MeasuredBatch>()) {
      if (kind !== measure.name) continue;
      for (const [language, found] of Object.entries(data.languages)) addMeasure(languages, language, found);
      largest = largestOf([...largest, ...data.largest]);
    }
    return { total: totalOf(languages), languages, largest };
  },
});

function largestOf(files: readonly MeasuredFile[]): MeasuredFile[] {
  return files.toSorted((a, b) => b.bytes - a.bytes).slice(0, LARGEST_SHOWN);
}

/** Files may disappear while they are read. */
function unlessGone(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

export default [list, measure, total];
