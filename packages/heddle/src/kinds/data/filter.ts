import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { SharedData } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import { defineKind } from '@heddle/kit';
import { schemaOf } from '../definition/input-schema.ts';
import { ItemEvaluation, readItemExpression, type ItemExpression } from '../items/item-expression.ts';
import { ItemCollector } from './item-collector.ts';
import { pagesOf, readItemSource, type ItemSource } from './items.ts';
import { FILTER_KIND } from './kind-names.ts';

const LIMIT_DEFAULT = 10_000;
const LIMIT_MAX = 100_000;

interface FilterInput {
  source: ItemSource | null;
  where: ItemExpression | null;
  params: JsonValue;
  limit: number;
}

const filterSchema = schemaOf<FilterInput, JsonObject>((input) => {
  input.refuseOthers(['items', 'from', 'where', 'params', 'limit']);
  input.requireAll('where');
  return {
    source: readItemSource(input),
    where: readItemExpression(input, 'where'),
    params: (input.raw('params') ?? null) as JsonValue,
    limit: input.integer('limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT,
  };
});

/** `Filter`: returns the items, given or from a node's result, for which an expression is true. */
export function filter({ shared, clock }: { shared: SharedData; clock: Clock }) {
  return defineKind({
    name: FILTER_KIND,
    input: filterSchema,
    timeout_secs: 600,
    run: async ({ source, where, params, limit }, context) => {
      const gathered = new ItemCollector(limit);
      const evaluation = new ItemEvaluation({ params, now: new Date(clock.now()), signal: context.signal });
      let total = 0;
      for await (const page of pagesOf(source!, context, shared)) {
        for (const item of page) {
          total += 1;
          if (await evaluation.accepts(where, item)) gathered.add(item);
        }
        await context.progress(page.length);
      }
      return { items: gathered.items, matched: gathered.matched, total, omitted: gathered.omitted };
    },
  });
}
