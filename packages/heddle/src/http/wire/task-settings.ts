import { Type, type TOptional, type TSchema, type TUnsafe } from 'typebox';

import {
  TASK_FIELD_NAMES,
  TASK_FIELDS,
  type GivenSettings,
  type TaskForm,
  type WireSettings,
} from '@heddle/base/vocabulary/task-fields';
import { nullable, oneOf } from './basics.ts';

type Field = (typeof TASK_FIELDS)[keyof typeof TASK_FIELDS];

type NewSettings<Form extends TaskForm> = {
  [Member in keyof GivenSettings<Form>]-?: TOptional<TUnsafe<NonNullable<GivenSettings<Form>[Member]>>>;
};
type ShownSettings<Form extends TaskForm> = {
  [Member in keyof WireSettings<Form>]: TUnsafe<WireSettings<Form>[Member]>;
};

const FIELDS: readonly Field[] = TASK_FIELD_NAMES.map((name) => TASK_FIELDS[name]);

/** Properties of a task's settings in requests: all optional, with bounds and defaults. */
export function newSettings<Form extends TaskForm>(form: Form): NewSettings<Form> {
  const accepted = FIELDS.filter((field) => form === 'batch' || !('batchOnly' in field));
  return Object.fromEntries(
    accepted.map((field) => [field[form], Type.Optional(newSetting(field))]),
  ) as unknown as NewSettings<Form>;
}

/** Properties of a task's settings in responses. */
export function shownSettings<Form extends TaskForm>(form: Form): ShownSettings<Form> {
  return Object.fromEntries(
    FIELDS.map((field) => [field[form], shownSetting(field)]),
  ) as unknown as ShownSettings<Form>;
}

function newSetting(field: Field): TSchema {
  const options = { description: field.description, ...(field.default === null ? {} : { default: field.default }) };
  if ('values' in field) return oneOf(field.values, options);
  return Type.Integer({ minimum: field.min, maximum: field.max, ...options });
}

function shownSetting(field: Field): TSchema {
  const { description } = field;
  if ('values' in field) return oneOf(field.values, { description });
  return field.default === null ? nullable(Type.Integer({ description })) : Type.Integer({ description });
}
