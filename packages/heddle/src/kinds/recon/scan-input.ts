import type { JsonObject } from '@heddle/base/json';
import type { Members } from '@heddle/base/parse/members';
import type { DnsType } from '@heddle/recon/records';
import { RECON_DEFAULTS } from '@heddle/recon/options';
import type { Slice } from '@heddle/recon/targets/endpoints';
import { parsePorts } from '@heddle/recon/targets/ports';
import { schemaOf, textsMember } from '../definition/input-schema.ts';
import { readOrFault } from './caller-faults.ts';
import { readEndpoint } from './endpoint-text.ts';
import {
  PROBE_MEMBERS,
  readProbeSettings,
  readSeed,
  readSlice,
  readTargets,
  readTexts,
  type ProbeSettings,
} from './probe-input.ts';

const DNS_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT', 'SOA', 'SRV', 'CAA', 'PTR'] as const;
const METHODS = ['auto', 'syn', 'connect'] as const;
const STARTTLS = ['auto', 'off', 'smtp', 'imap', 'ftp'] as const;
const STATES = ['open', 'closed', 'filtered'] as const;
const PORTS_CHARACTERS_MAX = 16_384;
const CONCURRENCY_MAX = 10_000;
const WORDS_MAX = 1_000_000;
const TLS_PORTS = '443';

/** Members common to every part of a scan, passed on unchanged by generators. */
export interface TcpMembers {
  ports: string;
  /** Uses each address of a name, at most 16, not only the first. */
  all_addresses: boolean;
  method: (typeof METHODS)[number];
  states: readonly (typeof STATES)[number][];
  banner: boolean;
  concurrency: number;
}

export interface DnsMembers {
  types: readonly DnsType[];
  /** Types for names without their own; addresses are queried for PTR. */
  wildcards: boolean;
  in_flight: number;
  /** Statuses besides NOERROR and NXDOMAIN that do not make a scan incomplete. */
  accept: readonly string[];
}

export interface TlsMembers {
  ports: string;
  /** Uses each address of a name, at most 16, not only the first. */
  all_addresses: boolean;
  starttls: (typeof STARTTLS)[number];
  alpn: readonly string[];
  certificates: boolean;
  versions: boolean;
  ciphers: boolean;
  concurrency: number;
}

/** The part of the targets that a task scans. */
interface PartMembers {
  targets: readonly string[];
  slice: Slice | null;
  port_slice: Slice | null;
  seed: number;
}

export interface EndpointPart extends PartMembers {
  /** Exactly these, instead of targets. */
  endpoints: readonly string[] | null;
}

export type TcpInput = EndpointPart & TcpMembers & { settings: ProbeSettings };
export type TlsInput = EndpointPart & TlsMembers & { settings: ProbeSettings };
export type DnsInput = Omit<PartMembers, 'port_slice'> &
  DnsMembers & { words: readonly string[]; settings: ProbeSettings };

export const TCP_MEMBERS = ['ports', 'all_addresses', 'method', 'states', 'banner', 'concurrency'] as const;
export const DNS_MEMBERS = ['types', 'wildcards', 'in_flight', 'accept'] as const;
export const TLS_MEMBERS = [
  'ports',
  'all_addresses',
  'starttls',
  'alpn',
  'certificates',
  'versions',
  'ciphers',
  'concurrency',
] as const;
const ENDPOINT_PART_MEMBERS = ['scan', 'targets', 'endpoints', 'slice', 'port_slice', 'seed'] as const;

export function readTcpMembers(input: Members): TcpMembers {
  return {
    ports: readPorts(input, RECON_DEFAULTS.ports),
    all_addresses: input.boolean('all_addresses') ?? false,
    method: input.oneOf('method', METHODS) ?? 'auto',
    states: readNames(input, 'states', STATES) ?? ['open'],
    banner: input.boolean('banner') ?? false,
    concurrency: input.integer('concurrency', 1, CONCURRENCY_MAX) ?? RECON_DEFAULTS.connectConcurrency,
  };
}

export function readTlsMembers(input: Members): TlsMembers {
  return {
    ports: readPorts(input, TLS_PORTS),
    all_addresses: input.boolean('all_addresses') ?? false,
    starttls: input.oneOf('starttls', STARTTLS) ?? 'auto',
    alpn: textsMember(input, 'alpn', { max: 32, maxChars: 255 }) ?? ['h2', 'http/1.1'],
    certificates: input.boolean('certificates') ?? true,
    versions: input.boolean('versions') ?? false,
    ciphers: input.boolean('ciphers') ?? false,
    concurrency: input.integer('concurrency', 1, CONCURRENCY_MAX) ?? RECON_DEFAULTS.tlsConcurrency,
  };
}

export function readDnsMembers(input: Members): DnsMembers {
  return {
    types: readNames(input, 'types', DNS_TYPES) ?? ['A', 'AAAA', 'CNAME'],
    wildcards: input.boolean('wildcards') ?? false,
    in_flight: input.integer('in_flight', 1, 65_536) ?? RECON_DEFAULTS.dnsInFlight,
    accept: textsMember(input, 'accept', { max: 50, maxChars: 50 }) ?? [],
  };
}

/** Reads words that are prepended to each target. */
export function readWords(input: Members): string[] {
  return textsMember(input, 'words', { max: WORDS_MAX, maxChars: 200 }) ?? [];
}

export const tcpSchema = schemaOf<TcpInput, JsonObject>((input) => {
  input.refuseOthers([...ENDPOINT_PART_MEMBERS, ...PROBE_MEMBERS, ...TCP_MEMBERS]);
  return { ...readEndpointPart(input), ...readTcpMembers(input) };
});

export const tlsSchema = schemaOf<TlsInput, JsonObject>((input) => {
  input.refuseOthers([...ENDPOINT_PART_MEMBERS, ...PROBE_MEMBERS, ...TLS_MEMBERS]);
  return { ...readEndpointPart(input), ...readTlsMembers(input) };
});

export const dnsSchema = schemaOf<DnsInput, JsonObject>((input) => {
  input.refuseOthers(['scan', 'targets', 'slice', 'seed', 'words', ...PROBE_MEMBERS, ...DNS_MEMBERS]);
  input.requireAll('targets');
  input.text('scan', 100);
  const settings = readProbeSettings(input);
  return {
    targets: readTargets(input, settings.exclude),
    slice: readSlice(input, 'slice'),
    seed: readSeed(input) ?? 0,
    words: readWords(input),
    settings,
    ...readDnsMembers(input),
  };
});

function readEndpointPart(input: Members): EndpointPart & { settings: ProbeSettings } {
  input.text('scan', 100);
  const settings = readProbeSettings(input);
  const named = readTexts(input, 'endpoints') ?? null;
  if ((named === null) === !input.has('targets')) {
    input.fault('targets', 'exactly one of `targets` and `endpoints` is required');
  }
  for (const [index, text] of (named ?? []).entries()) {
    readOrFault(input, `endpoints`, () => {
      if (readEndpoint(text) === null)
        input.fault('endpoints', `[${index}] must be ADDRESS:PORT, or NAME@ADDRESS:PORT`);
    });
  }
  return {
    targets: readTargets(input, settings.exclude),
    endpoints: named,
    slice: readSlice(input, 'slice'),
    port_slice: readSlice(input, 'port_slice'),
    seed: readSeed(input) ?? 0,
    settings,
  };
}

/** Reads `80,443`, a number, or an array of them. */
function readPorts(input: Members, fallback: string): string {
  const given = input.raw('ports');
  const parts = Array.isArray(given)
    ? (given as unknown[])
    : given === undefined || given === null
      ? [fallback]
      : [given];
  const isList = parts.every((part) => typeof part === 'string' || typeof part === 'number');
  const ports = isList ? parts.join(',') : '';
  if (!isList || ports.length > PORTS_CHARACTERS_MAX) {
    input.fault('ports', 'must be a text such as "22,80-90,top-100", or an array of ports');
    return fallback;
  }
  readOrFault(input, 'ports', () => parsePorts(ports));
  return ports;
}

/** Reads an array of known names; null if absent. */
function readNames<Name extends string>(input: Members, member: string, names: readonly Name[]): Name[] | null {
  const given = textsMember(input, member, { max: names.length, maxChars: 50 });
  if (given === undefined) return null;
  const unknown = given.filter((each) => !names.includes(each as Name));
  if (unknown.length > 0 || given.length === 0) {
    input.fault(member, `must contain only ${names.join(', ')}${unknown.length > 0 ? `, not ${unknown[0]!}` : ''}`);
  }
  return [...new Set(given as Name[])];
}
