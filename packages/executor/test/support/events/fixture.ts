import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, type TestContext } from 'node:test';

import type { AuditEntry } from '../../../src/audit/port.ts';
import type { EventRegistry } from '../../../src/events/port.ts';
import { type EventRegistryOptions, openEventRegistry } from '../../../src/events/registry.ts';
import { openTier } from '../../../src/execution/open-tier.ts';
import type { ExecutionTier, JobOutcome } from '../../../src/execution/port.ts';
import type { ResolvedEvent } from '../../../src/events/port.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';

/** Creates a directory that task users can traverse, removed after the test. */
export async function directory(t: { after: (run: () => Promise<void>) => void }): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'heddle-events-'));
  await chmod(made, 0o755);
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Writes files below a directory. */
export async function write(below: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(below, path)), { recursive: true });
    await writeFile(join(below, path), content);
  }
}

/** Returns a module with one event; `result` is the expression it returns. */
export function eventModule(name: string, result = 'args', options = ''): string {
  return [
    "import { defineEvent } from '@heddle/kit/event';",
    `export default defineEvent({ name: '${name}', ${options} run: (args, context) => (${result}) });`,
    '',
  ].join('\n');
}

let shared: Promise<{ tier: ExecutionTier; directory: string }> | null = null;

/** Opens the tier `process`, once per test file. */
async function processTier(): Promise<ExecutionTier> {
  shared ??= (async () => {
    const stage = await mkdtemp(join(tmpdir(), 'heddle-events-stage-'));
    await chmod(stage, 0o755);
    const tier = await openTier('process', {
      workers: 2,
      clock: systemClock,
      log: silentLogger,
      directory: stage,
      // Evaluated code records its process id in a directory that the test reads.
      privateTmp: false,
    });
    return { tier, directory: stage };
  })();
  return (await shared).tier;
}

after(async () => {
  if (shared === null) return;
  const { tier, directory: stage } = await shared;
  await tier.close();
  await rm(stage, { recursive: true, force: true });
});

export interface Opened {
  registry: EventRegistry;
  audit: AuditEntry[];
  pulled: string[];
  codeDirectory: string;
  /** Number of descriptions of code. */
  described: () => number;
}

/** Opens a registry on the tier `process`; `events` is written as its list. */
export async function openRegistry(
  t: TestContext,
  below: string,
  { events, ...options }: Partial<EventRegistryOptions> & { events?: unknown },
): Promise<Opened> {
  const tier = await processTier();
  const audit: AuditEntry[] = [];
  const pulled: string[] = [];
  let described = 0;
  if (events !== undefined) await write(below, { 'events.json': JSON.stringify(events) });
  const codeDirectory = options.codeDirectory ?? join(below, 'code');
  const registry = await openEventRegistry({
    eventList: events === undefined ? null : join(below, 'events.json'),
    eventsDirectory: null,
    codeDirectory,
    describe: (code) => {
      described += 1;
      return tier.describe(code);
    },
    bounds: { timeout_secs: 300, memory_mb: 256, tier: 'process' },
    clock: systemClock,
    log: silentLogger,
    audit: { append: (entry) => void audit.push(entry) },
    onPull: (source) => void pulled.push(source),
    ...options,
  });
  t.after(() => registry.close());
  return { registry, audit, pulled, codeDirectory, described: () => described };
}

export const NEVER = new AbortController().signal;

/** Runs an event on the tier `process` and returns its result. */
export async function runEvent({ name, code }: ResolvedEvent, args: object = {}): Promise<unknown> {
  const tier = await processTier();
  const outcome: JobOutcome = await tier.run(
    {
      correlation_id: 'test',
      event_name: name,
      code,
      args: Buffer.from(JSON.stringify(args)),
      timeout_ms: 10_000,
      memory_mb: 128,
      client: 'test',
      result_bytes_max: 100_000,
      traceparent: null,
    },
    { signal: NEVER, onProgress: () => undefined, onStart: () => undefined },
  );
  if (outcome.status === 'error') throw new Error(`${outcome.code}: ${outcome.message}`);
  return JSON.parse(Buffer.from(outcome.result).toString('utf8'));
}

/** Returns code and message of a failure, for one assertion. */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    const { code, message, details } = error as { code?: string; message: string; details?: readonly string[] };
    return [`${code ?? 'no code'}: ${message}`, ...(details ?? [])].join('\n');
  }
  throw new Error('nothing failed');
}
