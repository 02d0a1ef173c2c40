import { Permits } from '@heddle/base/permits';
import type { CodeIndex } from './code-index.ts';
import { type CodeOrigin, directoryOrigin, originOf, type OriginOptions } from './code-origin.ts';
import type { CodePulls } from './code-pulls.ts';
import type { CodeStore } from './code-store.ts';
import type { EventEntry } from './config/event-entry.ts';
import { type DefinitionBounds, type DescribedEvents, overrideFaults } from './described-events.ts';
import type { Registration, Registrations } from './registrations.ts';
import { publicReason } from './unavailable.ts';

/** Modules described concurrently. */
const DESCRIBED_AT_ONCE = 4;
const MODULE = /^[^_./][^/]*(?<!\.d|\.test)\.[cm]?[jt]s$/;

export interface StartUp {
  registrations: Registrations;
  store: CodeStore;
  index: CodeIndex;
  pulls: CodePulls;
  described: DescribedEvents;
  bounds: DefinitionBounds;
  signal: AbortSignal;
}

/** Registers the entries of the list. Local code is loaded immediately and must define the named event. */
export async function registerEntries(entries: readonly EventEntry[], options: OriginOptions, up: StartUp) {
  const origins = new Map<string, CodeOrigin>();
  const registered = entries.map((entry) => {
    const made = originOf(entry, options);
    const origin = origins.get(made.key) ?? made;
    origins.set(origin.key, origin);
    const { name, place, tier, timeout_secs, memory_mb } = entry;
    const registration = { name, place, origin, entry: entry.entry, overrides: { tier, timeout_secs, memory_mb } };
    up.registrations.add(registration);
    for (const fault of overrideFaults(registration.overrides, up.bounds)) up.registrations.fault(place, fault);
    return registration;
  });
  const permits = new Permits(DESCRIBED_AT_ONCE);
  await Promise.all(
    registered.map(async (registration) => {
      using _permit = await permits.acquire();
      if (registration.origin.source.kind === 'local') await requireDefined(registration, up);
    }),
  );
  await recoverPinned(registered, up);
}

async function requireDefined({ name, place, origin, entry }: Registration, up: StartUp): Promise<void> {
  try {
    const there = origin.digest === null ? null : up.store.find(origin.digest);
    const code = there ?? (await up.pulls.pull(origin, name, up.signal));
    const { events } = await up.described.of(code, entry, up.signal);
    if (!events.has(name)) up.registrations.fault(place, missingEventMessage(name, [...events.keys()]));
  } catch (error) {
    up.registrations.fault(place, `its code is unusable: ${publicReason(error)}`);
  }
}

export function missingEventMessage(name: string, names: readonly string[]): string {
  const there = names.length === 0 ? 'no events' : names.slice(0, 20).join(', ');
  return `its code does not define ${name}; it defines ${there}`;
}

/**
 * Restores non-ephemeral code from earlier runs, so that a restart works offline; each is verified against its digest.
 */
async function recoverPinned(registered: readonly Registration[], { index, pulls }: StartUp): Promise<void> {
  for (const { name, origin } of registered) {
    if (origin.ephemeral || origin.source.kind === 'local' || origin.digest !== null) continue;
    const digest = index.get(origin.key);
    if (digest !== null) await pulls.recover(origin, digest, name);
  }
}

/** Registers every event of the modules directly in a directory; subdirectories are not searched. */
export async function registerDirectory(directory: string, up: StartUp): Promise<void> {
  const { registrations, pulls, described, signal } = up;
  const origin = directoryOrigin(directory);
  const code = await pulls.pull(origin, '*', signal).catch((error: unknown) => {
    registrations.fault(directory, `is unusable: ${publicReason(error)}`);
    return null;
  });
  if (code === null) return;
  const modules = code.files.filter((path) => MODULE.test(path)).sort();
  if (modules.length === 0)
    registrations.fault(directory, 'contains no modules: *.js, *.mjs, *.cjs, *.ts, *.mts or *.cts');
  const permits = new Permits(DESCRIBED_AT_ONCE);
  const asked = await Promise.all(
    modules.map(async (entry) => {
      using _permit = await permits.acquire();
      try {
        const { events } = await described.of(code, entry, signal);
        return { entry, names: [...events.keys()], fault: null };
      } catch (error) {
        return { entry, names: [], fault: publicReason(error) };
      }
    }),
  );
  // Registers in name order, so that faults are reported consistently at every start.
  for (const { entry, names, fault } of asked) {
    const place = `${entry} of ${directory}`;
    if (fault !== null) registrations.fault(place, `is unusable: ${fault}`);
    else if (names.length === 0)
      registrations.fault(place, 'exports no events; move helper modules into a subdirectory');
    const overrides = { tier: null, timeout_secs: null, memory_mb: null };
    for (const name of names) registrations.add({ name, place, origin, entry, overrides });
  }
}
