import { createHash } from 'node:crypto';

import { canonicalJson, type JsonObject } from '@heddle/base/json';
import { defineKind, into, type KindContext, type Node, type Placed, task } from '@heddle/kit';
import { GENERATOR_KIND, generatorSchema, SCAN_KIND, type GeneratorInput } from './input.ts';
import { partition } from './partition.ts';
import type { ScanRoots } from './roots.ts';
import type { Part } from './slicer.ts';

export interface GeneratorOptions {
  roots: ScanRoots;
}

/**
 * `ObjectScanGenerator`: lists sources and creates an `ObjectScan` task for each part of them. A task's key is derived
 * from what it scans: a second attempt with the same listing creates the same tasks, and one with other part
 * boundaries creates additional ones, so that nothing is left out.
 */
export function objectScanGenerator({ roots }: GeneratorOptions) {
  return defineKind({
    name: GENERATOR_KIND,
    input: generatorSchema,
    timeout_secs: 3600,
    generator: true,
    run: (input, context) => generate(input, context, roots),
  });
}

async function* generate(
  input: GeneratorInput,
  { signal, progress }: KindContext,
  roots: ScanRoots,
): AsyncGenerator<Node | Placed, JsonObject, undefined> {
  roots.requireAllowed(input.sources);
  const { exclude, include } = input.settings;
  const counted = (objects: number): Promise<void> => progress(objects);
  const total = { tasks: 0, objects: 0, bytes: 0 };
  const parts = partition({
    sources: input.sources,
    exclude,
    include,
    partition: input.partition,
    signal,
    counted,
  });
  for await (const part of parts) {
    total.tasks += 1;
    total.objects += part.objects;
    total.bytes += part.bytes;
    const node = taskOf(part, total.tasks, input);
    yield input.into === null ? node : into(input.into, node);
  }
  return total;
}

function taskOf(part: Part, ordinal: number, input: GeneratorInput): Node {
  const scanned = { sources: part.sources } as unknown as JsonObject;
  const key = createHash('sha256').update(canonicalJson(scanned)).digest('hex').slice(0, 32);
  const name = `${SCAN_KIND} ${ordinal}`;
  return task(SCAN_KIND, { ...scanned, options: input.options }, { key, name, ...input.task });
}
