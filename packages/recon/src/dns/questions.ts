import type { DnsOptions } from '../options.ts';
import type { DnsType } from '../records.ts';
import type { Exchange } from './exchange.ts';
import { isLocalName, localOutcome } from './local-names.ts';
import { addressFamily, normalizeName, reverseName } from './names.ts';
import type { Refusals } from './refusals.ts';
import type { Settle } from './slots.ts';

const PTR_ONLY: readonly DnsType[] = ['PTR'];
const REVERSE_ZONE = '.arpa';

/**
 * Turns names into questions: one per type for a name, PTR for an address. Names are not queried for PTR along with
 * other types unless they are reverse names, since there would be no answer.
 */
export class Questions {
  readonly #types: readonly DnsType[];
  readonly #namesTypes: readonly DnsType[];
  readonly #scope: DnsOptions['scope'];
  readonly #refusals: Refusals;
  #name = '';
  #pending: readonly DnsType[] = [];
  #at = 0;
  /** Addresses by the reverse name that is queried for them. */
  readonly #addresses = new Map<string, string>();

  /** Names that are queried. */
  names = 0;
  /** Questions for them. */
  asked = 0;

  constructor({ types, scope }: Pick<DnsOptions, 'types' | 'scope'>, refusals: Refusals) {
    this.#types = [...new Set(types)];
    const others = this.#types.filter((type) => type !== 'PTR');
    this.#namesTypes = others.length === 0 ? this.#types : others;
    this.#scope = scope;
    this.#refusals = refusals;
  }

  /** Whether every question of the names so far was asked. */
  get empty(): boolean {
    return this.#at >= this.#pending.length;
  }

  /** Accepts a name, or refuses it. Requires `empty`. */
  add(text: string): void {
    const family = addressFamily(text);
    if (family === 0) this.#addName(text);
    else this.#addAddress(text, family);
  }

  /** Asks one question if there is one; settles at once what needs no query. */
  askNext(exchange: Exchange, settle: Settle): void {
    if (this.empty) return;
    this.asked += 1;
    const type = this.#pending[this.#at++]!;
    if (isLocalName(this.#name)) settle(localOutcome(this.#name, type));
    else exchange.ask(this.#name, type, settle);
  }

  /** Returns the host as used in records: the address behind a reverse name. */
  hostOf(name: string): string {
    if (this.#addresses.size === 0) return name;
    const address = this.#addresses.get(name);
    if (address === undefined) return name;
    this.#addresses.delete(name);
    return address;
  }

  #addName(text: string): void {
    const verdict = normalizeName(text);
    if (!verdict.ok) {
      this.#refusals.add(text, verdict.reason);
      return;
    }
    const scope = this.#scope.checkName(verdict.name);
    if (!scope.allowed) {
      this.#refusals.add(verdict.name, scope.reason);
      return;
    }
    this.#begin(verdict.name, verdict.name.endsWith(REVERSE_ZONE) ? this.#types : this.#namesTypes);
  }

  #addAddress(text: string, family: 4 | 6): void {
    if (!this.#types.includes('PTR')) {
      this.#refusals.add(text, 'an address is only queried for PTR, which was not requested');
      return;
    }
    const scope = this.#scope.check(text, null);
    if (!scope.allowed) {
      this.#refusals.add(text, scope.reason);
      return;
    }
    const name = reverseName(text, family);
    this.#addresses.set(name, text);
    this.#begin(name, PTR_ONLY);
  }

  #begin(name: string, types: readonly DnsType[]): void {
    this.names += 1;
    this.#name = name;
    this.#pending = types;
    this.#at = 0;
  }
}
