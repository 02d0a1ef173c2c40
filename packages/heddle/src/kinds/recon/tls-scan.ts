import { RECON_DEFAULTS, type TlsOptions } from '@heddle/recon/options';
import type { TlsRecord } from '@heddle/recon/records';
import { parsePorts } from '@heddle/recon/targets/ports';
import { scanTls } from '@heddle/recon/tls/scan';
import { defineKind } from '@heddle/kit';
import { targetsByName } from './aims.ts';
import { scanGenerator, type GeneratorOptions } from './generator.ts';
import { generatorSchema } from './generator-input.ts';
import { TLS_SCAN } from './kind-names.ts';
import { partsOf } from './parts.ts';
import { runEndpointScan } from './run-endpoint-scan.ts';
import type { ScanKindOptions } from './run-scan.ts';
import { readTlsMembers, TLS_MEMBERS, tlsSchema, type TlsInput, type TlsMembers } from './scan-input.ts';

const TIMEOUT_SECS = 6 * 3600;

/** `TlsScan`: finds TLS servers, their parameters and certificates. */
export function tlsScan(options: ScanKindOptions) {
  return defineKind({
    name: TLS_SCAN.scan,
    input: tlsSchema,
    concurrency: options.concurrency,
    timeout_secs: TIMEOUT_SECS,
    run: (input, context) =>
      runEndpointScan<TlsRecord>({
        options,
        input,
        context,
        start: (endpoints, environment) => scanTls(tlsOptions(input, endpoints), environment),
        countOf: ({ probe_status }) => (probe_status ? 'tls' : 'failed'),
      }),
  });
}

/** `TlsScanGenerator`: divides a scan of TLS servers into `TlsScan` tasks. */
export function tlsScanGenerator(options: Pick<GeneratorOptions<TlsMembers>, 'policy' | 'models' | 'clock'>) {
  return scanGenerator<TlsMembers>({
    ...options,
    family: TLS_SCAN,
    schema: generatorSchema({ members: TLS_MEMBERS, read: readTlsMembers }),
    targetReaderOf: ({ own }) => targetsByName(parsePorts(own.ports)),
    partsOf: ({ own, division }, targets, seed) =>
      partsOf({ targets, ports: parsePorts(own.ports).length, tasks_max: division.tasks_max, seed }),
  });
}

function tlsOptions(input: TlsInput, endpoints: TlsOptions['endpoints']): TlsOptions {
  const { starttls, alpn, certificates, versions, ciphers, concurrency, settings } = input;
  return {
    endpoints,
    starttls,
    alpn,
    certificates,
    concurrency,
    versions,
    ciphers,
    timeoutMs: settings.timeout_ms ?? RECON_DEFAULTS.tlsTimeoutMs,
  };
}
