/** The zone `surface.test` and the names of its addresses, as answered by the name server. */
import { ZONE } from './plan.ts';

export type Answer =
  | { readonly type: 'A' | 'AAAA' | 'CNAME' | 'NS' | 'PTR' | 'TXT'; readonly value: string }
  | { readonly type: 'MX'; readonly preference: number; readonly exchange: string };

export interface Found {
  readonly name: string;
  readonly answer: Answer;
}

/** Records of a name; `exists` without records: the name has only other types. */
export interface Lookup {
  readonly exists: boolean;
  readonly answers: readonly Found[];
}

export type Zone = ReadonlyMap<string, readonly Answer[]>;

const HOST_OF: Readonly<Record<string, number>> = {
  '@': 1,
  www: 1,
  api: 2,
  mail: 3,
  shop: 4,
  git: 5,
  vpn: 6,
  legacy: 7,
  ns: 8,
  build: 9,
  db: 10,
  'node-1': 11,
  'node-2': 12,
  'node-3': 13,
  admin: 14,
  ftp: 15,
  staging: 16,
  preview: 17,
  canary: 18,
  // A wildcard: the zone answers for every name below it.
  '*.apps': 1,
};

const ALIASES: Readonly<Record<string, string>> = {
  cdn: 'www',
  docs: 'www',
  assets: 'cdn',
  // A dangling alias, whose target is gone.
  old: 'decommissioned',
};

/** Words that a scan tries below the zone; not all exist. */
export const WORDS: readonly string[] = [
  ...Object.keys(HOST_OF).filter((label) => /^[a-z]/.test(label)),
  ...Object.keys(ALIASES),
  ...['keys', 'shop.apps', 'backup', 'chat', 'dev', 'imap', 'intranet', 'jobs', 'search', 'status', 'test', 'wiki'],
];

/** Too long for one UDP message: the resolver must retry over TCP. */
const KEYS = 'made up so that it does not fit; '.repeat(20).trim();

const full = (label: string): string => (label === '@' ? ZONE : `${label}.${ZONE}`);

/** @param addressOf returns the address of a host of the plan */
export function makeZone(addressOf: (host: number) => string): Zone {
  const zone = new Map<string, Answer[]>();
  const add = (name: string, ...answers: Answer[]): void => {
    zone.set(name, [...(zone.get(name) ?? []), ...answers]);
  };
  for (const [label, host] of Object.entries(HOST_OF)) {
    const address = addressOf(host);
    add(full(label), { type: 'A', value: address });
    const reverse = `${address.split('.').toReversed().join('.')}.in-addr.arpa`;
    if (/^[a-z]/.test(label)) add(reverse, { type: 'PTR', value: full(label) });
  }
  for (const [label, target] of Object.entries(ALIASES)) add(full(label), { type: 'CNAME', value: full(target) });
  add(
    ZONE,
    { type: 'NS', value: full('ns') },
    { type: 'MX', preference: 10, exchange: full('mail') },
    { type: 'TXT', value: 'v=spf1 mx -all' },
  );
  add(full('_dmarc'), { type: 'TXT', value: 'v=DMARC1; p=reject' });
  add(full('keys'), { type: 'TXT', value: KEYS });
  add(full('www'), { type: 'AAAA', value: '::1' });
  return zone;
}

/** Answers in order, an alias before its target. */
export function lookUp(zone: Zone, name: string, type: string): Lookup {
  const answers: Found[] = [];
  let at = name.toLowerCase();
  // A chain is no longer than the number of names.
  for (let step = 0; step <= zone.size; step += 1) {
    const held = zone.get(at) ?? zone.get(at.replace(/^[^.]+/, '*'));
    if (held === undefined) return { exists: answers.length > 0 || isAbove(zone, at), answers };
    const fitting = held.filter((answer) => answer.type === type || (answer.type === 'CNAME' && type !== 'CNAME'));
    answers.push(...fitting.map((answer) => ({ name: at, answer })));
    const alias = held.find((answer) => answer.type === 'CNAME');
    if (alias?.type !== 'CNAME' || type === 'CNAME') return { exists: true, answers };
    at = alias.value;
  }
  return { exists: true, answers };
}

/** Whether names exist below one that has no records. */
function isAbove(zone: Zone, name: string): boolean {
  return [...zone.keys()].some((each) => each.endsWith(`.${name}`));
}
