import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { Members } from '@heddle/base/parse/members';
import { readValue } from '@heddle/base/parse/json-value';
import type { SharedData } from '@heddle/core/engine/port';
import { defineKind } from '@heddle/kit';
import { schemaOf } from '../definition/input-schema.ts';
import { ItemCollector, ITEMS_BYTES_MAX } from './item-collector.ts';
import { pagesOf, readItemSource, type ItemSource } from './items.ts';
import { INSERT_KIND } from './kind-names.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const ITEMS_MAX = 100_000;

interface InsertInput {
  name: string;
  what: { data: JsonValue } | ItemSource | null;
}

const insertSchema = schemaOf<InsertInput, JsonObject>((input) => {
  input.refuseOthers(['name', 'data', 'items', 'from']);
  input.requireAll('name');
  const name = input.text('name', 100) ?? '';
  if (name !== '' && !NAME.test(name)) {
    input.fault('name', 'must be letters, digits and _, not a digit first, so that expressions can say data.NAME');
  }
  return { name, what: readData(input) };
});

function readData(input: Members): InsertInput['what'] {
  const data = input.raw('data');
  if (data === undefined) return readItemSource(input);
  if (input.has('items') || input.has('from'))
    input.fault('data', 'must not be combined with items or from; keep one of them');
  return { data: readValue(data, input.at('data'), input.faults) };
}

/**
 * `InsertData`: stores a value, or a part of a list, which every expression of the workflow reads as `data.NAME`. A
 * repeated attempt replaces what the previous one stored.
 */
export function insertData({ shared }: { shared: SharedData }) {
  return defineKind({
    name: INSERT_KIND,
    input: insertSchema,
    timeout_secs: 600,
    run: async ({ name, what }, context) => {
      const { id: task_id, workflow_id, attempt } = context.task;
      const entry = { workflow_id, name, task_id, attempt };
      if (what !== null && 'data' in what) {
        const bytes = Buffer.byteLength(JSON.stringify(what.data));
        if (bytes > ITEMS_BYTES_MAX) throw new Error(`data: has ${bytes} bytes; ${ITEMS_BYTES_MAX} are allowed`);
        await shared.put({ ...entry, list: false, data: what.data });
        return { name };
      }
      const gathered = new ItemCollector(ITEMS_MAX);
      for await (const page of pagesOf(what!, context, shared)) for (const item of page) gathered.add(item);
      await shared.put({ ...entry, list: true, data: gathered.items });
      return { name, inserted: gathered.items.length, omitted: gathered.omitted };
    },
  });
}
