import type { Members } from '@heddle/base/parse/members';
import { TASK_FIELDS, TASK_FIELD_NAMES, type GivenSettings } from '@heddle/base/vocabulary/task-fields';

const FIELDS = TASK_FIELD_NAMES.map((name) => TASK_FIELDS[name]).filter((field) => !('batchOnly' in field));

/** Members of a node with settings of its task. */
export const SETTING_MEMBERS: readonly string[] = FIELDS.map(({ tree }) => tree);

/** Reads the settings that a node gives. */
export function readSettings(node: Members): GivenSettings<'tree'> {
  const given: Record<string, string | number> = {};
  for (const field of FIELDS) {
    const value =
      'values' in field ? node.oneOf(field.tree, field.values) : node.integer(field.tree, field.min, field.max);
    if (value !== null) given[field.tree] = value;
  }
  return given;
}
