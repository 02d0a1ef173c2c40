import { SCOPE_SETTING, scopeEntry } from '@heddle/recon/command/scope-setting';
import { VERIFY_OPTIONS } from '@heddle/scan/verify/options';
import { isScanRoot } from '../kinds/object-scan/roots.ts';
import * as kind from './setting.ts';

const { endpoints, allow, proxy } = VERIFY_OPTIONS;
const ifAllowed = (option: kind.Setting<unknown>) => (given: string) => (option.parse(given) === null ? null : given);

/** Settings of the kinds that scan files and networks. */
export const SCAN_SETTING_GROUPS = {
  Scanning: {
    scanRoots: kind.list({
      name: 'HEDDLE_SCAN_ROOTS',
      fallback: [],
      fallbackText: 'nothing; with `heddle up` on loopback the working directory',
      allowed:
        'a comma-separated list of paths and of addresses such as s3://bucket/prefix or image:registry.example/team',
      item: (given) => (isScanRoot(given) ? given : null),
      description:
        'What tasks of the kind `ObjectScan` may read on this machine: directories, `s3://BUCKET/PREFIX` and `image:REPOSITORY`, comma-separated',
    }),
    scanInServer: kind.onOff({
      name: 'HEDDLE_SCAN_IN_SERVER',
      fallback: true,
      description: 'Run scans in servers; 0 leaves them to each `heddle worker` with `HEDDLE_SCAN_ROOTS`',
    }),
    scanConcurrency: kind.integer({
      name: 'HEDDLE_SCAN_CONCURRENCY',
      fallback: 2,
      min: 1,
      max: 100,
      description: 'Concurrent tasks of the kind `ObjectScan` in one process; each has its own thread',
    }),
    verifyRate: kind.integer({
      name: 'HEDDLE_VERIFY_RATE',
      fallback: 5,
      min: 1,
      max: 1000,
      description: 'Requests per second to one host with which each scan verifies secrets',
    }),
    verifyEndpoints: kind.list({
      name: 'HEDDLE_VERIFY_ENDPOINTS',
      fallback: [],
      fallbackText: '-',
      allowed: 'a comma-separated list such as gitlab=https://gitlab.example.com',
      item: ifAllowed(endpoints),
      description: 'Addresses of verifications in place of their own, `NAME=URL`, comma-separated',
    }),
    verifyAllow: kind.list({
      name: 'HEDDLE_VERIFY_ALLOW',
      fallback: [],
      fallbackText: '-',
      allowed: `a comma-separated list, each item ${allow.allowed}`,
      item: ifAllowed(allow),
      description: 'Internal hosts to which verifications may be sent: names, `.suffixes` and ranges, comma-separated',
    }),
    verifyProxy: kind.checkedText({
      name: 'HEDDLE_VERIFY_PROXY',
      fallback: '',
      fallbackText: '-',
      allowed: proxy.allowed,
      check: (given) => proxy.parse(given) !== null,
      secret: true,
      description: 'HTTP proxy of verifications',
    }),
  },
  Recon: {
    reconEnabled: kind.onOff({
      name: 'HEDDLE_RECON',
      fallback: true,
      description: 'Run the kinds that probe networks in this process: `TcpSyn`, `DnsScan`, `TlsScan`',
    }),
    reconScope: kind.list({
      ...SCOPE_SETTING,
      fallback: [],
      fallbackText: 'loopback and private networks only',
      item: scopeEntry,
      description:
        'Additional targets that these kinds may probe: addresses, networks, domains, or `@FILE` with one per line; tasks can only narrow it',
    }),
    reconRate: kind.integer({
      name: 'HEDDLE_RECON_RATE',
      fallback: 10_000,
      min: 1,
      max: 10_000_000,
      description: 'Packets, queries and connections per second of all such tasks of one process together',
    }),
    reconConcurrency: kind.integer({
      name: 'HEDDLE_RECON_CONCURRENCY',
      fallback: 4,
      min: 1,
      max: 100,
      description: 'Concurrent tasks of each of these kinds in one process',
    }),
  },
} as const;
