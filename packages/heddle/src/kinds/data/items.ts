import type { JsonValue } from '@heddle/base/json';
import type { Members } from '@heddle/base/parse/members';
import { LOCAL_ID_CHARS_MAX } from '@heddle/core/domain/parse/node';
import { isObject, shown } from '@heddle/base/parse/faults';
import type { SharedData } from '@heddle/core/engine/port';
import type { KindContext } from '@heddle/kit';

/** The source of items: the input itself, or the result of a node of the workflow. */
export type ItemSource = { items: readonly JsonValue[] } | { from: string };

/** Items that are processed before the next ones are read. */
const PAGE_ITEMS = 500;

/** Reads the members `items` and `from`, of which one is required; returns null after a fault. */
export function readItemSource(input: Members): ItemSource | null {
  const items = input.raw('items');
  const from = input.text('from', LOCAL_ID_CHARS_MAX);
  if (items === undefined || items === null) {
    if (from === null && !input.has('from'))
      input.faults.add(input.place, 'must have items, or from: the name of a node');
    return from === null ? null : { from };
  }
  if (input.has('from')) input.fault('from', 'must not be combined with items; keep one of the two');
  if (!Array.isArray(items)) input.fault('items', `must be an array, not ${shown(items)}`);
  return Array.isArray(items) ? { items: items as JsonValue[] } : null;
}

/** Yields items page by page; a node's items are read on demand. */
export async function* pagesOf(
  source: ItemSource,
  { task, signal }: KindContext,
  shared: SharedData,
): AsyncGenerator<readonly JsonValue[], void, undefined> {
  if ('items' in source) {
    for (let at = 0; at < source.items.length; at += PAGE_ITEMS) yield source.items.slice(at, at + PAGE_ITEMS);
    return;
  }
  let page: JsonValue[] = [];
  for await (const { data } of shared.resultsOf(task.workflow_id, source.from, signal)) {
    for (const item of itemsIn(data)) {
      page.push(item);
      if (page.length < PAGE_ITEMS) continue;
      yield page;
      page = [];
    }
    signal.throwIfAborted();
  }
  if (page.length > 0) yield page;
}

/** Returns the elements of a list, or of `items` in a result; any other result is one item. */
function itemsIn(data: JsonValue): readonly JsonValue[] {
  if (Array.isArray(data)) return data;
  const items = isObject(data) ? data['items'] : undefined;
  return Array.isArray(items) ? items : [data];
}
