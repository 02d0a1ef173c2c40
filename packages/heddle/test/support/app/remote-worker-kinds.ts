import { text } from 'node:stream/consumers';

import { defineKind, FinalFailure, task } from '@heddle/kit';

export const measure = defineKind({
  name: 'remote.measure',
  run: async (input, { artifacts, log, progress }) => {
    const content = await text(await artifacts.get(input['file'] as string));
    log.info({}, `measured ${content.length}`);
    await progress(1);
    return { length: content.length };
  },
});

export const make = defineKind({
  name: 'remote.make',
  generator: true,
  run: async function* (_input, { artifacts }) {
    const { id } = await artifacts.put('words.txt', 'one two three');
    for (const n of [1, 2, 3]) yield task(measure, { file: id, n }, { key: String(n) });
  },
});

export const sum = defineKind({
  name: 'remote.sum',
  run: async (_input, { results }) => {
    let total = 0;
    for await (const { kind, data } of results<{ length?: number }>())
      if (kind === 'remote.measure') total += data.length!;
    return { total };
  },
});

export const failing = defineKind({
  name: 'remote.failing',
  run: () => {
    throw new FinalFailure('it cannot work');
  },
});

export const endless = defineKind({
  name: 'remote.endless',
  run: (_input, { signal, output }) =>
    new Promise((_resolve, reject) => {
      output('stdout', 'it runs');
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    }),
});
