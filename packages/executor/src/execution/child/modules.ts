import { registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { type EventDefinition, eventsOf } from '@heddle/kit/event';
import { ChildFailure, failureOf, messageOf } from './failure.ts';

/** What event modules may import even without an installed package. */
const OWN_NAME = '@heddle/kit/event';

/** Returns the URL of a file next to the bootstrap. */
export function nextToBootstrap(path: string): string {
  return pathToFileURL(join(dirname(process.argv[1]!), path)).href;
}

/** Resolves imports of this package by name to the copy next to the bootstrap. */
export function resolveOwnPackage(): void {
  const url = nextToBootstrap('package/index.mjs');
  registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === OWN_NAME ? { url, shortCircuit: true } : nextResolve(specifier, context),
  });
}

const loaded = new Map<string, ReadonlyMap<string, EventDefinition>>();

/**
 * Returns the events of a module by name; the module is evaluated once.
 *
 * @throws ChildFailure EXECUTION_FAILED, TASK_OOM
 */
export async function loadEvents(url: string): Promise<ReadonlyMap<string, EventDefinition>> {
  const known = loaded.get(url);
  if (known !== undefined) return known;
  let events: ReadonlyMap<string, EventDefinition>;
  try {
    const module = (await import(url)) as Readonly<Record<string, unknown>>;
    events = new Map(eventsOf(module).map((event) => [event.name, event]));
  } catch (error) {
    const { code } = failureOf(error);
    throw new ChildFailure(code, `the event code could not be loaded: ${messageOf(error)}`);
  }
  loaded.set(url, events);
  return events;
}

/** @throws ChildFailure EVENT_UNAVAILABLE, or as loadEvents */
export async function findEvent(url: string, name: string): Promise<EventDefinition> {
  const events = loaded.get(url) ?? (await loadEvents(url));
  const event = events.get(name);
  if (event !== undefined) return event;
  const names = [...events.keys()].slice(0, 20).join(', ');
  throw new ChildFailure(
    'EVENT_UNAVAILABLE',
    `the code does not define the event ${name}; it defines: ${names || 'none'}`,
  );
}
