import type { Random } from '@heddle/base/random';
import type { DnsRecord, DnsType } from '../records.ts';
import type { Scope } from '../targets/port.ts';
import type { Answers } from './decode.ts';
import type { Exchange } from './exchange.ts';
import { parentOf } from './names.ts';
import type { Outcome } from './slots.ts';

/** Random names queried for each zone and type at first. */
const PROBES = 3;
/** Total number queried if those disagree: a wildcard may have changing addresses. */
const PROBES_CHANGING = 9;
const LABEL_BYTES = 12;
/** Zones whose verdict is cached. */
const ZONES_MAX = 50_000;

interface Zone {
  /** Null until the verdict is known. */
  verdict: Verdict | null;
  waiting: (() => void)[];
  asked: number;
  open: number;
  answers: Answers[];
  failed: boolean;
}

/** The answers of a zone for nonexistent names; empty sets if it has none. */
interface Verdict {
  exists: boolean;
  aliases: ReadonlySet<string>;
  values: ReadonlySet<string>;
  /** Networks of its addresses, if they differ between answers. */
  networks: ReadonlySet<string>;
  /** Every answer differed, even in its networks: any answer may be the wildcard's. */
  anything: boolean;
}

const NOTHING: Verdict = {
  exists: false,
  aliases: new Set(),
  values: new Set(),
  networks: new Set(),
  anything: false,
};

/**
 * Distinguishes wildcard answers from those for existing names. Queries random siblings of each answered name: a
 * nonexistent name and its random sibling are answered by the same wildcard, at whatever level it is, so checking the
 * name's own level suffices.
 */
export class WildcardCheck {
  readonly #exchange: Exchange;
  readonly #scope: Scope;
  readonly #random: Random;
  readonly #zones = new Map<string, Zone>();
  readonly #probes: { name: string; type: DnsType; zone: Zone }[] = [];

  constructor(exchange: Exchange, scope: Scope, { random }: { random: Random }) {
    this.#exchange = exchange;
    this.#scope = scope;
    this.#random = random;
  }

  /** Sets `wildcard` of a record with answers, then calls `done`; at once if the zone is known. */
  check(record: DnsRecord, done: () => void): void {
    const parent = parentOf(record.host);
    if (parent === null) {
      done();
      return;
    }
    const zone = this.#zone(parent, record.query_type);
    const conclude = (): void => {
      record.wildcard = zone.verdict !== null && matches(record, zone.verdict);
      done();
    };
    if (zone.verdict === null) zone.waiting.push(conclude);
    else conclude();
  }

  /** Asks the next random name; returns false if there is none, or no capacity. */
  feed(): boolean {
    const probe = this.#probes[this.#probes.length - 1];
    if (probe === undefined || this.#exchange.free === 0) return false;
    this.#probes.pop();
    this.#exchange.ask(probe.name, probe.type, (outcome) => this.#probed(probe.zone, probe.type, probe.name, outcome));
    return true;
  }

  #zone(parent: string, type: DnsType): Zone {
    const key = `${type} ${parent}`;
    const known = this.#zones.get(key);
    if (known !== undefined) return known;
    const zone: Zone = { verdict: null, waiting: [], asked: 0, open: 0, answers: [], failed: false };
    this.#zones.set(key, zone);
    this.#forgetOldest();
    for (let count = 0; count < PROBES; count++) this.#ask(zone, parent, type);
    if (zone.open === 0) zone.verdict = NOTHING;
    this.#exchange.wake();
    return zone;
  }

  #forgetOldest(): void {
    if (this.#zones.size <= ZONES_MAX) return;
    for (const [key, zone] of this.#zones) {
      if (zone.verdict === null) continue;
      this.#zones.delete(key);
      return;
    }
  }

  #ask(zone: Zone, parent: string, type: DnsType): void {
    const name = `${Buffer.from(this.#random.bytes(LABEL_BYTES)).toString('hex')}.${parent}`;
    // Names of 253 characters have no siblings, and names out of scope are not queried, random or not.
    if (name.length > 253 || !this.#scope.checkName(name).allowed) return;
    zone.asked += 1;
    zone.open += 1;
    this.#probes.push({ name, type, zone });
  }

  #probed(zone: Zone, type: DnsType, name: string, { status, ttl, answers }: Outcome): void {
    zone.open -= 1;
    if (ttl !== null) zone.answers.push(answers);
    else if (status !== 'NOERROR' && status !== 'NXDOMAIN') zone.failed = true;
    if (zone.open > 0) return;
    if (zone.asked < PROBES_CHANGING && isChanging(zone.answers)) {
      const parent = parentOf(name)!;
      while (zone.asked < PROBES_CHANGING) this.#ask(zone, parent, type);
      this.#exchange.wake();
      return;
    }
    zone.verdict = verdictOf(zone.answers);
    zone.answers = [];
    const { waiting } = zone;
    zone.waiting = [];
    for (const conclude of waiting) conclude();
  }
}

function isChanging(answers: readonly Answers[]): boolean {
  const [first, ...others] = answers.map((answer) => valuesOf(answer).sort().join('\n'));
  return others.some((other) => other !== first);
}

function verdictOf(answers: readonly Answers[]): Verdict {
  if (answers.length === 0) return NOTHING;
  const sets = answers.map((answer) => new Set(valuesOf(answer)));
  const values = new Set(sets.flatMap((set) => [...set]));
  const changing = isChanging(answers);
  const networks = new Set(changing ? answers.flatMap(networksOf) : []);
  const networkSets = answers.map((answer) => new Set(networksOf(answer)));
  const anything =
    changing && networkSets.every((set, at) => networkSets.slice(at + 1).every((other) => areDisjoint(set, other)));
  return { exists: true, aliases: new Set(answers.flatMap(aliasOf)), values, networks, anything };
}

function matches(record: DnsRecord, verdict: Verdict): boolean {
  if (!verdict.exists) return false;
  const alias = aliasOf(record)[0];
  if (alias !== undefined || verdict.aliases.size > 0) return alias !== undefined && verdict.aliases.has(alias);
  if (verdict.anything) return true;
  const values = valuesOf(record);
  if (values.every((value) => verdict.values.has(value))) return true;
  const networks = networksOf(record);
  return networks.length > 0 && networks.every((network) => verdict.networks.has(network));
}

function areDisjoint(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return [...one].every((value) => !other.has(value));
}

/** Returns the alias targets, which identify a wildcard; the addresses behind them may change. */
function aliasOf({ cname }: Answers): string[] {
  return cname === undefined ? [] : [cname[0]!];
}

function valuesOf(answers: Answers): string[] {
  const { a = [], aaaa = [], cname = [], ns = [], txt = [], ptr = [], mx = [], soa = [], srv = [], caa = [] } = answers;
  const structured = [...mx, ...soa, ...srv, ...caa].map((answer) => JSON.stringify(answer));
  return [...a, ...aaaa, ...cname, ...ns, ...txt, ...ptr, ...structured];
}

/** Returns /24 of IPv4 and /48 of IPv6; anything else is a network of its own. */
function networksOf(answers: Answers): string[] {
  const { a = [], aaaa = [] } = answers;
  const networks4 = a.map((address) => address.slice(0, address.lastIndexOf('.')));
  const networks6 = aaaa.map((address) => address.split(':', 3).join(':'));
  return a.length + aaaa.length === 0 ? valuesOf(answers) : [...networks4, ...networks6];
}
