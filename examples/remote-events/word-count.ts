import { defineEvent } from '@heddle/kit/event';

interface Text {
  text: string;
}

/** A hand-written Standard Schema. A schema library does this better, but must be installed in the event's directory. */
const text = {
  '~standard': {
    version: 1 as const,
    vendor: 'example',
    validate: (value: unknown) =>
      typeof (value as Text).text === 'string'
        ? { value: value as Text }
        : { issues: [{ message: 'must be a string', path: ['text'] }] },
    types: undefined as { input: Text; output: Text } | undefined,
  },
};

/** Counts the words of a text. */
export const wordCount = defineEvent({
  name: 'WordCount',
  args: text,
  timeout_secs: 10,
  memory_mb: 64,
  idempotent: true,
  run: ({ text }) => {
    const counts = new Map<string, number>();
    for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
  },
});
