import type { JsonObject, JsonValue } from '@heddle/base/json';
import { messageOf } from '@heddle/base/thrown';
import {
  MODEL_DATA_BYTES_MAX,
  MODEL_KEY_CHARACTERS_MAX,
  MODEL_NAME_MEANING,
  MODEL_NAME_PATTERN,
  MODEL_TARGET_CHARACTERS_MAX,
  type ModelRun,
  type ReportedModel,
} from '@heddle/core/domain/model-record';
import { isObject } from '@heddle/base/parse/faults';
import type { Members } from '@heddle/base/parse/members';
import type { ModelBooks, SharedData } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import { defineKind } from '@heddle/kit';
import { describeMember, schemaOf, textsMember } from '../definition/input-schema.ts';
import { ItemEvaluation, readItemExpression, type ItemExpression } from '../items/item-expression.ts';
import { pagesOf, readItemSource, type ItemSource } from './items.ts';
import { UPSERT_KIND } from './kind-names.ts';

export interface UpsertOptions {
  books: ModelBooks;
  shared: SharedData;
  clock: Clock;
}

const FIELDS_MAX = 10;
const FIELD_SEPARATOR = '|';
const REASONS_MAX = 10;

/** The key of an item: an expression over it, or the values of some of its members. */
type KeyOf = ItemExpression | readonly string[];

interface UpsertInput {
  target: string;
  model: string;
  key: KeyOf | null;
  source: ItemSource | null;
  /** The items are complete: other models of this sort are gone. */
  complete: boolean;
  params: JsonValue;
}

const upsertSchema = schemaOf<UpsertInput, JsonObject>((input) => {
  input.refuseOthers(['target', 'model', 'key', 'items', 'from', 'complete', 'params']);
  input.requireAll('target', 'model', 'key');
  const model = input.text('model', 100) ?? '';
  if (model !== '' && !new RegExp(MODEL_NAME_PATTERN).test(model))
    input.fault('model', `must be ${MODEL_NAME_MEANING}`);
  return {
    target: input.text('target', MODEL_TARGET_CHARACTERS_MAX) ?? '',
    model,
    key: readKey(input),
    source: readItemSource(input),
    complete: input.boolean('complete') ?? false,
    params: (input.raw('params') ?? null) as JsonValue,
  };
});

function readKey(input: Members): KeyOf | null {
  const names = { type: 'array', minItems: 1, maxItems: FIELDS_MAX, items: { type: 'string' } };
  describeMember(input, 'key', { anyOf: [{ type: 'string', minLength: 1 }, names] });
  if (!Array.isArray(input.raw('key'))) return readItemExpression(input, 'key');
  const fields = textsMember(input, 'key', { max: FIELDS_MAX, maxChars: 100 }) ?? [];
  if (fields.length === 0) input.fault('key', 'must be an expression, or name at least one member of the items');
  return fields;
}

/**
 * `UpsertModels`: merges items into the models of a target as one run. The run is identified by this task, and every
 * step is repeatable: an attempt that fails anywhere leaves nothing to undo.
 */
export function upsertModels({ books, shared, clock }: UpsertOptions) {
  return defineKind({
    name: UPSERT_KIND,
    input: upsertSchema,
    timeout_secs: 3600,
    run: async ({ target, model, key, source, complete, params }, context) => {
      const { task, signal, progress } = context;
      const { open, run } = await books.beginRun(task.id, target);
      if (!open) return resultOf(run, 0, ['a later run of this target has started; this run was left unchanged']);
      const evaluation = new ItemEvaluation({ params, now: new Date(clock.now()), signal });
      const refused = new Refused();
      let items = 0;
      for await (const page of pagesOf(source!, context, shared)) {
        items += page.length;
        const models: ReportedModel[] = [];
        for (const item of page) {
          const reported = await refused.unlessSound(() => modelOf(model, key!, item, evaluation));
          if (reported !== null) models.push(reported);
        }
        signal.throwIfAborted();
        await books.merge(task.id, models);
        await progress(models.length, page.length - models.length);
      }
      signal.throwIfAborted();
      // Refused items may still exist.
      const whole = complete && refused.count === 0;
      const ended = await books.finishRun(task.id, { complete: whole, covers: whole ? [model] : [] });
      return { ...resultOf(ended, items, refused.reasons), refused: refused.count };
    },
  });
}

async function modelOf(model: string, key: KeyOf, item: JsonValue, evaluation: ItemEvaluation): Promise<ReportedModel> {
  const values =
    'expression' in key ? [await evaluation.valueOf(key, item)] : key.map((field) => memberOf(item, field));
  const text = keyText(values);
  const data: JsonObject = isObject(item) ? item : { value: item };
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes > MODEL_DATA_BYTES_MAX) throw new Error(`has ${bytes} bytes; ${MODEL_DATA_BYTES_MAX} are allowed`);
  return { model, key: text, data };
}

function memberOf(item: JsonValue, field: string): JsonValue {
  const value = isObject(item) && Object.hasOwn(item, field) ? item[field]! : null;
  if (value === null) throw new Error(`has no member "${field}" for its key`);
  return value;
}

function keyText(values: readonly JsonValue[]): string {
  const texts = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  // Distinguishes "a|b" and "c" from "a" and "b|c".
  const text =
    texts.length === 1 ? texts[0]! : texts.map((each) => each.replace(/[|\\]/g, '\\$&')).join(FIELD_SEPARATOR);
  if (text === '' || text === 'null') throw new Error('has an empty key');
  if (text.length > MODEL_KEY_CHARACTERS_MAX) {
    throw new Error(`has a key of ${text.length} characters; ${MODEL_KEY_CHARACTERS_MAX} are allowed`);
  }
  return text;
}

/** Items without a usable key or size: the rest is processed without them. */
class Refused {
  count = 0;
  readonly reasons: string[] = [];

  async unlessSound(make: () => Promise<ReportedModel>): Promise<ReportedModel | null> {
    try {
      return await make();
    } catch (error) {
      this.count += 1;
      const reason = `an item ${messageOf(error)}`;
      if (this.reasons.length < REASONS_MAX && !this.reasons.includes(reason)) this.reasons.push(reason);
      return null;
    }
  }
}

function resultOf(run: ModelRun, items: number, skipped: readonly string[]): JsonObject {
  const { target, number, complete, new: fresh, changed, known, gone } = run;
  return { target, run: number, complete, items, new: fresh, changed, known, gone, skipped: [...skipped] };
}
