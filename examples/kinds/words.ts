/**
 * Three kinds that count words: a generator that creates a task for each text, the task itself, and an aggregator that
 * sums the counts. Run them with `heddle up --module examples/kinds/words.ts`, or in a separate worker with `heddle
 * worker --module examples/kinds/words.ts`; `words.json` is a workflow of them.
 */
import { defineKind, into, PartialFailure, task, type StandardSchema } from '@heddle/kit';

/** Any Standard Schema library works (zod, valibot, arktype); this schema is written by hand. */
function texts<Name extends string>(name: Name): StandardSchema<Record<Name, string[]>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'words',
      validate: (value) => {
        const given = (value as Record<string, unknown>)[name];
        if (Array.isArray(given) && given.every((text) => typeof text === 'string')) {
          return { value: { [name]: given } as Record<Name, string[]> };
        }
        return { issues: [{ message: 'must be an array of strings', path: [name] }] };
      },
    },
  };
}

/** Creates a task for each text, in the container named `counts`. The key makes the task unique across attempts. */
export const generator = defineKind({
  name: 'WordCountGenerator',
  input: texts('texts'),
  *run({ texts: all }) {
    for (const [index, text] of all.entries())
      yield into('counts', task(count, { words: [text] }, { key: `text-${index}` }));
  },
});

export const count = defineKind({
  name: 'WordCount',
  input: texts('words'),
  timeout_secs: 60,
  retry: { max_attempts: 3 },
  async run({ words }, { progress }) {
    const counts: Record<string, number> = {};
    for (const word of words.flatMap((text) => text.toLowerCase().match(/\p{L}+/gu) ?? [])) {
      counts[word] = (counts[word] ?? 0) + 1;
    }
    await progress(1);
    if (Object.keys(counts).length === 0) throw new PartialFailure('it contains no words', { result: counts });
    return counts;
  },
});

/** Reads the results of all preceding tasks, page by page. */
export const aggregator = defineKind({
  name: 'WordCountAggregator',
  async run(_input, { results }) {
    const total: Record<string, number> = {};
    for await (const { kind, data } of results<Record<string, number>>()) {
      if (kind !== count.name) continue;
      for (const [word, times] of Object.entries(data)) total[word] = (total[word] ?? 0) + times;
    }
    return total;
  },
});
