import type { JsonObject } from '../../domain/json.ts';
import { RECON_DEFAULTS, type TlsOptions } from '../../recon/options.ts';
import type { TlsRecord } from '../../recon/records.ts';
import { openResolver } from '../../recon/resolve.ts';
import { parsePorts } from '../../recon/targets/ports.ts';
import { scanTls } from '../../recon/tls/scan.ts';
import type { KindContext } from '../definition/context.ts';
import { defineKind } from '../definition/define-kind.ts';
import { aimByName } from './aims.ts';
import { endpointSource } from './endpoint-source.ts';
import { scanGenerator, type GeneratorOptions } from './generator.ts';
import { generatorSchema } from './generator-input.ts';
import { TLS_SCAN } from './kind-names.ts';
import { partsOf } from './parts.ts';
import { runScan, type ScanKindOptions } from './run-scan.ts';
import { readTlsMembers, TLS_MEMBERS, tlsSchema, type TlsInput, type TlsMembers } from './scan-input.ts';

const TIMEOUT_SECS = 6 * 3600;

/** `TlsScan`: what servers speak TLS, how, and which certificates they show. */
export function tlsScan(options: ScanKindOptions) {
  return defineKind({
    name: TLS_SCAN.scan,
    input: tlsSchema,
    concurrency: options.concurrency,
    timeout_secs: TIMEOUT_SECS,
    run: (input, context) => scanServers(options, input, context),
  });
}

/** `TlsScanGenerator`: divides a scan of TLS servers into tasks of the kind `TlsScan`. */
export function tlsScanGenerator(options: Pick<GeneratorOptions<TlsMembers>, 'policy' | 'models' | 'clock'>) {
  return scanGenerator<TlsMembers>({
    ...options,
    family: TLS_SCAN,
    schema: generatorSchema({ members: TLS_MEMBERS, read: readTlsMembers }),
    aimOf: ({ own }) => aimByName(parsePorts(own.ports)),
    partsOf: ({ own, division }, targets, seed) =>
      partsOf({ targets, ports: parsePorts(own.ports).length, tasks_max: division.tasks_max, seed }),
  });
}

async function scanServers(options: ScanKindOptions, input: TlsInput, context: KindContext): Promise<JsonObject> {
  const { settings } = input;
  const { clock, random, policy } = options;
  const scope = policy.scopeOf(settings);
  const resolver = openResolver({
    resolvers: settings.resolvers,
    timeout_ms: RECON_DEFAULTS.dns_timeout_ms,
    clock,
    random,
    signal: context.signal,
  });
  try {
    return await runScan<TlsRecord>({
      options,
      settings,
      context,
      start: (environment, leftOuts) => {
        const resolve = (name: string): Promise<string[]> => resolver.resolve(name);
        const endpoints = endpointSource({ part: input, scope, resolve, leftOuts });
        return scanTls(tlsOptions(input, endpoints), environment);
      },
      judge: ({ probe_status }) => ({ count: probe_status ? 'tls' : 'failed', keep: true }),
    });
  } finally {
    resolver.close();
  }
}

function tlsOptions(input: TlsInput, endpoints: TlsOptions['endpoints']): TlsOptions {
  const { starttls, alpn, certificates, versions, ciphers, concurrency, settings } = input;
  return {
    endpoints,
    starttls,
    alpn,
    certificates,
    concurrency,
    enumerate_versions: versions,
    enumerate_ciphers: ciphers,
    timeout_ms: settings.timeout_ms ?? RECON_DEFAULTS.tls_timeout_ms,
  };
}
