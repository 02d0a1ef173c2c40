import { CONFIDENCES } from '@heddle/base/vocabulary/confidence';
import type { ReportedFinding } from './report.ts';
import { Spool } from './spool.ts';

/** Bounds of the memory of one report: secrets whose places are united, and places that are kept for them. */
const SECRETS_MAX = 10_000;
const PLACES_SHOWN_MAX = 20;
const PLACE_CHARACTERS_MAX = 4 * 1024 * 1024;

/** A further place of a secret. */
export interface SecretPlace {
  path: string;
  line: number;
  column: number;
  fingerprint: string;
  /** Id of the commit; null outside a history. */
  commit: string | null;
}

/** One secret with its places. */
export interface SecretGroup {
  /** The surest finding of the secret, of equally sure ones the first. */
  lead: ReportedFinding;
  /** All places, that of `lead` included. */
  count: number;
  /** Further places in the order in which they were found, at most 20. */
  others: readonly SecretPlace[];
}

interface Entry {
  /** Number of the record of the lead. */
  record: number;
  sureness: number;
  leadPlace: SecretPlace;
  count: number;
  others: SecretPlace[];
}

/**
 * Unites the findings of each secret. Findings go to a temporary file, places are kept in memory, as many as the bounds
 * allow: further secrets are not united, further places are only counted.
 */
export class SecretGroups {
  readonly #records = new Spool();
  readonly #entries = new Map<string, Entry>();
  #written = 0;
  #characters = 0;

  get isEmpty(): boolean {
    return this.#written === 0;
  }

  add(finding: ReportedFinding): void {
    const { secret_id } = finding;
    const entry = secret_id === null ? undefined : this.#entries.get(secret_id);
    const sureness = surenessOf(finding);
    if (entry === undefined) {
      if (secret_id !== null && this.#entries.size < SECRETS_MAX) {
        const record = this.#written;
        this.#entries.set(secret_id, { record, sureness, leadPlace: placeOf(finding), count: 1, others: [] });
      }
      this.#write(finding);
      return;
    }
    entry.count += 1;
    if (sureness > entry.sureness) {
      this.#keep(entry, entry.leadPlace);
      Object.assign(entry, { record: this.#written, sureness, leadPlace: placeOf(finding) });
      this.#write(finding);
    } else this.#keep(entry, placeOf(finding));
  }

  /** Calls back for each secret, in the order of their leads, and releases them. */
  drain(visit: (group: SecretGroup) => void): void {
    let record = 0;
    const take = (line: string): void => {
      const lead = JSON.parse(line) as ReportedFinding;
      const entry = lead.secret_id === null ? undefined : this.#entries.get(lead.secret_id);
      if (entry === undefined) visit({ lead, count: 1, others: [] });
      // A finding that a surer one has replaced is among the others.
      else if (entry.record === record) visit({ lead, count: entry.count, others: entry.others });
      record += 1;
    };
    let rest = '';
    this.#records.drainTo({
      write: (text) => {
        const lines = `${rest}${text}`.split('\n');
        rest = lines.pop()!;
        for (const line of lines) take(line);
      },
    });
    this.#entries.clear();
  }

  #write(finding: ReportedFinding): void {
    this.#records.write(`${JSON.stringify(finding)}\n`);
    this.#written += 1;
  }

  #keep(entry: Entry, place: SecretPlace): void {
    const { path, fingerprint } = place;
    const characters = path.length + fingerprint.length + 40;
    if (entry.others.length >= PLACES_SHOWN_MAX || this.#characters + characters > PLACE_CHARACTERS_MAX) return;
    this.#characters += characters;
    entry.others.push(place);
  }
}

/** What a provider said counts more than the confidence. */
function surenessOf({ confidence, verification }: ReportedFinding): number {
  const verdict = ['unknown', 'inactive', 'active'].indexOf(verification?.verdict ?? 'unknown');
  return verdict * CONFIDENCES.length + CONFIDENCES.indexOf(confidence);
}

function placeOf({ path, line, column, fingerprint, commit }: ReportedFinding): SecretPlace {
  return { path, line, column, fingerprint, commit: commit?.id ?? null };
}
