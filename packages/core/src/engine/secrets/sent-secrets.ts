import type { Keyring } from '@heddle/base/keyring';
import type { JsonObject } from '@heddle/base/json';
import type { Logger } from '@heddle/base/log';
import { Redactor } from '@heddle/base/redactor';
import type { Queryable } from '../../store/database.ts';
import { findSentSecrets } from '../../store/sent-secrets.ts';
import type { Report, TaskUpdate } from '../port.ts';
import { contextOf } from './sealing.ts';

/** Removes the secrets that were sent for tasks from what is reported about them. */
export class SentSecrets {
  readonly #keyring: (() => Promise<Keyring>) | null;
  readonly #log: Logger;
  #warned = false;

  /** @param keyring null: this process has no keys */
  constructor(keyring: (() => Promise<Keyring>) | null, log: Logger) {
    this.#keyring = keyring;
    this.#log = log;
  }

  /** Returns a redactor for each task that secrets were sent for. */
  async redactors(queryable: Queryable, taskIds: readonly string[]): Promise<ReadonlyMap<string, Redactor>> {
    const rows = await findSentSecrets(queryable, taskIds);
    const values = new Map<string, string[]>();
    if (rows.length === 0) return new Map();
    const keyring = await this.#keyring?.();
    for (const row of rows) {
      const value = this.#open(row, keyring);
      if (value === null) continue;
      const known = values.get(row.task_id);
      if (known === undefined) values.set(row.task_id, [value]);
      else known.push(value);
    }
    return new Map([...values].map(([id, ofTask]) => [id, new Redactor(ofTask)]));
  }

  /** Returns reports or updates without the secrets that were sent for their tasks. */
  async redact<Item extends Report | TaskUpdate>(queryable: Queryable, items: readonly Item[]): Promise<Item[]> {
    const ids = items.map(({ task_id }) => task_id);
    const redactors = await this.redactors(queryable, ids);
    return items.map((item) => {
      const redactor = redactors.get(item.task_id);
      return redactor === undefined ? item : redacted(item, redactor);
    });
  }

  #open(row: { name: string; grants: readonly string[]; key_id: string; sealed: Uint8Array }, keyring?: Keyring) {
    if (keyring?.has(row.key_id) !== true) {
      if (!this.#warned) {
        const hint = 'set HEDDLE_SECRET_KEY_FILE for every server';
        this.#log.warn({ secret: row.name, key_id: row.key_id, hint }, 'no key for secrets; reports are not redacted');
      }
      this.#warned = true;
      return null;
    }
    try {
      return keyring.open(row, contextOf(row.name, row.grants));
    } catch {
      // Its row was changed in the database. Its next use reports that; what was sent is no longer known.
      return null;
    }
  }
}

function redacted<Item extends Report | TaskUpdate>(item: Item, redactor: Redactor): Item {
  const copy = { ...item };
  if (copy.metadata_patch !== undefined) copy.metadata_patch = redactor.json(copy.metadata_patch) as JsonObject;
  if (!('outcome' in copy)) return copy;
  if (copy.reason !== undefined) copy.reason = redactor.text(copy.reason);
  if (copy.result !== undefined) copy.result = redactor.json(copy.result);
  return copy;
}
