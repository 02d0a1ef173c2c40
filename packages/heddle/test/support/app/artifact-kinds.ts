import { text } from 'node:stream/consumers';

import { defineKind } from '@heddle/kit';

/** Stores a file with the text of its input, and returns what another one has. */
export const filing = defineKind({
  name: 'Filing',
  run: async ({ store, read }, { artifacts }) => {
    const stored = typeof store === 'string' ? await artifacts.put('notes/text.txt', store) : null;
    return { stored, read: typeof read === 'string' ? await text(await artifacts.get(read)) : null };
  },
});
