import type { JsonObject } from '@heddle/base/json';
import { RECON_DEFAULTS } from '@heddle/recon/options';
import type { DnsRecord } from '@heddle/recon/records';
import { scanDns } from '@heddle/recon/dns/scan';
import { defineKind, type KindContext } from '@heddle/kit';
import { nameTargets } from './aims.ts';
import { scanGenerator, type GeneratorOptions } from './generator.ts';
import { generatorSchema } from './generator-input.ts';
import { DNS_SCAN } from './kind-names.ts';
import type { SkippedTargets } from './skipped-targets.ts';
import { partsOf, wordParts } from './parts.ts';
import { runScan, type ScanKindOptions } from './run-scan.ts';
import { DNS_MEMBERS, dnsSchema, readDnsMembers, readWords, type DnsInput, type DnsMembers } from './scan-input.ts';
import { scannedNames, TARGET_ITSELF } from './scanned-names.ts';

const TIMEOUT_SECS = 6 * 3600;

/** Statuses that are conclusive. */
const ANSWERS = ['NOERROR', 'NXDOMAIN'];

/** `DnsScan`: resolves names, and looks up the names of addresses. */
export function dnsScan(options: ScanKindOptions) {
  return defineKind({
    name: DNS_SCAN.scan,
    input: dnsSchema,
    concurrency: options.concurrency,
    timeout_secs: TIMEOUT_SECS,
    run: (input, context) => scanNames(options, input, context),
  });
}

/** `DnsScanGenerator`: divides a scan of names into `DnsScan` tasks. */
export function dnsScanGenerator(options: Pick<GeneratorOptions<DnsMembers>, 'policy' | 'models' | 'clock'>) {
  return scanGenerator<DnsMembers>({
    ...options,
    family: DNS_SCAN,
    schema: generatorSchema({ members: DNS_MEMBERS, read: readDnsMembers, readWords }),
    targetReaderOf: () => nameTargets,
    partsOf: ({ own, words, division }, targets, seed) => {
      const { tasks_max } = division;
      if (words.length > 0) return wordParts(targets, [TARGET_ITSELF, ...words], { tasks_max, seed });
      return partsOf({ targets, ports: own.types.length, tasks_max, seed }).map(({ port_slice: _, ...part }) => part);
    },
  });
}

function scanNames(options: ScanKindOptions, input: DnsInput, context: KindContext): Promise<JsonObject> {
  const { settings, words } = input;
  const scope = options.policy.scopeOf(settings);
  // Without the wildcard check, every word would count as a name of a wildcard zone.
  const wildcards = input.wildcards || words.length > 0;
  return runScan<DnsRecord>({
    options,
    settings,
    context,
    start: (environment, skippedTargets) => {
      const { total, names } = scannedNames(input, scope, skippedTargets);
      return scanDns(
        {
          names,
          total,
          scope,
          wildcards,
          // For addresses only; names are not queried for PTR besides other types.
          types: [...input.types, 'PTR'],
          resolvers: settings.resolvers,
          retries: settings.retries,
          timeoutMs: settings.timeout_ms ?? RECON_DEFAULTS.dnsTimeoutMs,
          inFlight: input.in_flight,
        },
        environment,
      );
    },
    judge: (record, skippedTargets) => judge(record, input, skippedTargets),
  });
}

function judge(record: DnsRecord, { accept, words }: DnsInput, skippedTargets: SkippedTargets) {
  const { host, query_type, status_code, ttl, wildcard } = record;
  if (!ANSWERS.includes(status_code) && !accept.includes(status_code)) {
    skippedTargets.add(`${host} ${query_type}`, status_code);
  }
  const isMadeUp = wildcard === true && words.length > 0;
  return { count: isMadeUp ? 'WILDCARD' : status_code, keep: ttl !== null && !isMadeUp };
}
