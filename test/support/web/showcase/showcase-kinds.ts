/** Kinds whose tasks do as their input says: `heddle worker --module showcase-kinds.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineKind, type KindDefinition, type StandardSchema } from '@heddle/kit';

/** What a task of these kinds does. */
export interface Behaviour {
  /** Time that it takes. */
  secs?: number;
  /** Its log; the last line is a warning if it fails. */
  lines?: readonly string[];
  /** Why it fails, at the end. */
  fails?: string;
  result?: unknown;
  /** Files that it stores. */
  files?: Readonly<Record<string, string>>;
}

const SCHEMA = {
  type: 'object',
  properties: {
    secs: { type: 'number', minimum: 0, description: 'Time that it takes, seconds' },
    lines: { type: 'array', items: { type: 'string' }, description: 'Its log' },
    fails: { type: 'string', description: 'Why it fails' },
    result: { description: 'Its result' },
    files: { type: 'object', additionalProperties: { type: 'string' }, description: 'Files that it stores' },
  },
} as const;

const input: StandardSchema<Behaviour> = {
  '~standard': { version: 1, vendor: 'showcase', validate: (value) => ({ value: value as Behaviour }) },
};

function kind(name: string, description: string): KindDefinition {
  return defineKind({
    name,
    description,
    input,
    input_schema: SCHEMA,
    async run({ secs = 0, lines = [], fails, result, files = {} }, { log, signal, artifacts }) {
      for (const [at, line] of lines.entries()) {
        if (fails !== undefined && at === lines.length - 1) log.warn(line);
        else log.info(line);
        await sleep((secs * 1_000) / lines.length, undefined, { signal });
      }
      if (lines.length === 0) await sleep(secs * 1_000, undefined, { signal });
      for (const [path, text] of Object.entries(files)) await artifacts.put(path, text);
      if (fails !== undefined) throw new Error(fails);
      return result ?? {};
    },
  });
}

export const kinds = [
  kind('Extract', 'Reads the orders of a region.'),
  kind('Transform', 'Brings orders into the form of the warehouse.'),
  kind('Load', 'Writes orders to the warehouse.'),
  kind('Report', 'Sums up what was loaded.'),
  kind('Resize', 'Makes the small versions of an image.'),
  kind('Render', 'Renders the invoices of a customer.'),
  kind('Send', 'Sends rendered invoices.'),
];

/** Runs until it is canceled. */
export const endless = defineKind({
  name: 'Endless',
  run: (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
});
