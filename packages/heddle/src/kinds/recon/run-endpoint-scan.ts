import type { JsonObject } from '@heddle/base/json';
import { RECON_DEFAULTS, type ProbeEnvironment } from '@heddle/recon/options';
import { openResolver } from '@heddle/recon/resolve';
import type { EndpointSource } from '@heddle/recon/targets/port';
import type { KindContext } from '@heddle/kit';
import { endpointSource, type SourceOptions } from './endpoint-source.ts';
import type { ProbeSettings } from './probe-input.ts';
import { runScan, type ScanKindOptions } from './run-scan.ts';

/** One scan of endpoints. */
export interface EndpointScanning<Record> {
  options: ScanKindOptions;
  input: SourceOptions['part'] & { settings: ProbeSettings };
  context: KindContext;
  /** Starts the probe. */
  start: (endpoints: EndpointSource, environment: ProbeEnvironment) => AsyncIterable<Record>;
  /** Returns the key under which a record is counted. */
  countOf: (record: Record) => string;
}

/**
 * Runs one scan of endpoints as an attempt of its task: resolves the target names on demand and keeps every record.
 *
 * @throws like `runScan`
 */
export async function runEndpointScan<Record extends object>(scanning: EndpointScanning<Record>): Promise<JsonObject> {
  const { options, input, context, start, countOf } = scanning;
  const { settings } = input;
  const { clock, random, policy } = options;
  const scope = policy.scopeOf(settings);
  const resolver = openResolver({
    resolvers: settings.resolvers,
    timeoutMs: RECON_DEFAULTS.dnsTimeoutMs,
    clock,
    random,
    signal: context.signal,
  });
  try {
    return await runScan<Record>({
      options,
      settings,
      context,
      start: (environment, skippedTargets) => {
        const resolve = (name: string): Promise<string[]> => resolver.resolve(name);
        return start(endpointSource({ part: input, scope, resolve, skippedTargets }), environment);
      },
      judge: (record) => ({ count: countOf(record), keep: true }),
    });
  } finally {
    resolver.close();
  }
}
