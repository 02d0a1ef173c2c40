import type { JsonObject } from '@heddle/base/json';
import type { TrackedModel } from '@heddle/core/domain/model-record';
import type { ItemNames } from './item-expression.ts';

const MODEL_MEMBERS = [
  'id',
  'target',
  'model',
  'key',
  'data',
  'state',
  'runs',
  'first_seen',
  'last_seen',
  'changed_at',
  'gone_at',
  'changes',
] as const;

/** Names available in expressions over models. */
export const MODEL_NAMES: ItemNames = { short: MODEL_MEMBERS, members_of: 'item.data' };

/** Returns a model's members as expressions read them: times are timestamps. */
export function modelMembers(model: TrackedModel): Record<(typeof MODEL_MEMBERS)[number], unknown> {
  const { id, target, key, data, state, runs, gone_at, changes } = model;
  return {
    id,
    target,
    model: model.model,
    key,
    data,
    state,
    runs,
    first_seen: new Date(model.first_seen),
    last_seen: new Date(model.last_seen),
    changed_at: new Date(model.changed_at),
    gone_at: gone_at === null ? null : new Date(gone_at),
    changes: changes.map((change): JsonObject => ({ ...change })),
  };
}
