import type { JsonValue } from '../../domain/json.ts';
import type { Members } from '../../domain/parse/members.ts';
import { LOCAL_ID_CHARS_MAX } from '../../domain/parse/node.ts';
import { isObject, shown } from '../../domain/parse/faults.ts';
import type { SharedData } from '../../engine/port.ts';
import type { KindContext } from '../definition/context.ts';

/** Where items come from: the input itself, or what a node of the workflow left. */
export type ItemSource = { items: readonly JsonValue[] } | { from: string };

/** Items that are handled before the next ones are read. */
const PAGE_ITEMS = 500;

/** The members `items` and `from`, of which one must be there; null where a fault was left. */
export function readItemSource(input: Members): ItemSource | null {
  const items = input.raw('items');
  const from = input.text('from', LOCAL_ID_CHARS_MAX);
  if (items === undefined || items === null) {
    if (from === null && !input.has('from'))
      input.faults.add(input.place, 'must have items, or from: the name of a node');
    return from === null ? null : { from };
  }
  if (input.has('from')) input.fault('from', 'is given beside items; keep one of the two');
  if (!Array.isArray(items)) input.fault('items', `must be an array, not ${shown(items)}`);
  return Array.isArray(items) ? { items: items as JsonValue[] } : null;
}

/** Items page by page; of a node they are read as they are asked for. */
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

/** A result that is a list, or that has one under `items`, is its elements; any other is one item. */
function itemsIn(data: JsonValue): readonly JsonValue[] {
  if (Array.isArray(data)) return data;
  const items = isObject(data) ? data['items'] : undefined;
  return Array.isArray(items) ? items : [data];
}
