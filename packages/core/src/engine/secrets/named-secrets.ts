import type { Clock } from '@heddle/base/clock';
import { Coalescer } from '@heddle/base/coalescer';
import { HeddleError } from '@heddle/base/errors';
import type { Keyring } from '@heddle/base/keyring';
import { messageOf } from '@heddle/base/thrown';
import type { Queryable } from '../../store/database.ts';
import {
  findNamedSecrets,
  listNamedSecrets,
  putNamedSecret,
  listRetiredSecrets,
  removeNamedSecret,
  resealRetiredSecret,
  resealNamedSecret,
  type NamedSecretRow,
  type RetiredSecretRow,
} from '../../store/named-secrets.ts';
import { forgetRetiredSecrets, noteSentSecrets, type SentSecret } from '../../store/sent-secrets.ts';
import { SecretRefusedError } from '../../domain/secret.ts';
import type { AuditLog } from '../audit-log.ts';
import { contextOf } from './sealing.ts';
import type { ListedSecret, NamedSecrets, SecretUse } from './port.ts';

const NAMES_PER_READ = 500;
const WAITING_MAX = 10_000;
/** A value that is retired while it is being sent is noted by then. */
const RETIRED_KEEP_MS = 3_600_000;

export interface NamedSecretsOptions {
  database: Queryable;
  clock: Clock;
  audit: Pick<AuditLog, 'record'>;
  /** The present keys; they may change while the process runs. */
  keyring: () => Promise<Keyring>;
}

export function createNamedSecrets(options: NamedSecretsOptions): NamedSecrets {
  return new StoredSecrets(options);
}

class StoredSecrets implements NamedSecrets {
  readonly #options: NamedSecretsOptions;
  readonly #reads: Coalescer<string, NamedSecretRow | null>;
  readonly #sent: Coalescer<SentSecret, undefined>;

  constructor(options: NamedSecretsOptions) {
    this.#options = options;
    this.#reads = new Coalescer({
      flush: async (names) => {
        const rows = await findNamedSecrets(options.database, [...new Set(names)]);
        const byName = new Map(rows.map((row) => [row.name, row]));
        return names.map((name) => byName.get(name) ?? null);
      },
      maxItems: NAMES_PER_READ,
      maxWaiting: WAITING_MAX,
    });
    this.#sent = new Coalescer({
      flush: async (sent) => {
        await noteSentSecrets(options.database, sent);
        return sent.map(() => undefined);
      },
      maxItems: NAMES_PER_READ,
      maxWaiting: WAITING_MAX,
    });
  }

  async set(name: string, value: string, grants: readonly string[] | null): Promise<ListedSecret> {
    const keyring = await this.#sealing();
    const kept = grants ?? (await findNamedSecrets(this.#options.database, [name]))[0]?.grants ?? [];
    const granted = [...new Set(kept)].toSorted();
    if (granted.length === 0) {
      throw new HeddleError('VALIDATION_FAILED', undefined, {
        details: ['grants: must name at least one kind, or the origin of a webhook, that may use the secret'],
      });
    }
    const secret = { name, grants: granted, ...keyring.seal(value, contextOf(name, granted)) };
    return listed(await putNamedSecret(this.#options.database, secret, this.#now()), keyring);
  }

  async list(): Promise<ListedSecret[]> {
    const keyring = await this.#options.keyring();
    return (await listNamedSecrets(this.#options.database)).map((row) => listed(row, keyring));
  }

  remove(name: string): Promise<boolean> {
    return removeNamedSecret(this.#options.database, name, this.#now());
  }

  async rotate(): Promise<number> {
    const { database } = this.#options;
    const keyring = await this.#sealing();
    const others = (await listNamedSecrets(database)).filter(({ key_id }) => key_id !== keyring.current);
    // All are opened first, so that a missing key changes nothing.
    const values = others.map((row) => opened(row, keyring));
    await this.#rotateRetired(keyring);
    let count = 0;
    for (const [index, row] of others.entries()) {
      const fresh = keyring.seal(values[index]!, contextOf(row.name, row.grants));
      if (await resealNamedSecret(database, row, fresh)) count += 1;
    }
    return count;
  }

  async retain(limit: number): Promise<void> {
    const { database, clock } = this.#options;
    await forgetRetiredSecrets(database, new Date(clock.now() - RETIRED_KEEP_MS).toISOString(), limit);
  }

  /** Former values whose key is gone stay as they are: no one will use them again. */
  async #rotateRetired(keyring: Keyring): Promise<void> {
    const { database } = this.#options;
    for (const row of await listRetiredSecrets(database, keyring.current!)) {
      if (!keyring.has(row.key_id)) continue;
      const fresh = keyring.seal(opened(row, keyring), contextOf(row.name, row.grants));
      await resealRetiredSecret(database, row.version, fresh);
    }
  }

  async use(
    names: readonly string[],
    { grantee, task_id, worker, isSent = false }: SecretUse,
  ): Promise<ReadonlyMap<string, string>> {
    const { audit } = this.#options;
    const wanted = [...new Set(names)];
    const rows = await Promise.all(wanted.map((name) => this.#reads.add(name)));
    const actor = worker === undefined ? `task:${task_id}` : `task:${task_id}, ${worker.name}`;
    const address = worker?.address ?? null;
    const record = (action: string, name: string): Promise<void> =>
      audit.record({ actor, action, object: `${name} ${grantee}`, status: null, address });
    for (const [index, name] of wanted.entries()) {
      const reason = refusalOf(rows[index]!, name, grantee);
      if (reason === null) continue;
      await record('secret refuse', name);
      throw new SecretRefusedError(reason);
    }
    const keyring = await this.#options.keyring();
    const values = new Map(rows.map((row) => [row!.name, opened(row!, keyring)]));
    if (isSent)
      await Promise.all(rows.map((row) => this.#sent.add({ task_id, name: row!.name, version: row!.version })));
    await Promise.all(wanted.map((name) => record('secret use', name)));
    return values;
  }

  async #sealing(): Promise<Keyring> {
    const keyring = await this.#options.keyring();
    if (keyring.current !== null) return keyring;
    throw new HeddleError('CONFLICT', 'This server has no key for secrets', {
      details: ['create one with `heddle secret new-key FILE`, and set HEDDLE_SECRET_KEY_FILE for servers and workers'],
    });
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}

/** Tries to open all secrets; returns how many there are, and why some cannot be opened. */
export async function unreadableSecrets(
  database: Queryable,
  keyring: Keyring,
): Promise<{ total: number; unreadable: string[] }> {
  const rows = await listNamedSecrets(database);
  const unreadable = rows.flatMap((row) => {
    try {
      opened(row, keyring);
      return [];
    } catch (error) {
      return [messageOf(error)];
    }
  });
  return { total: rows.length, unreadable };
}

function refusalOf(row: NamedSecretRow | null, name: string, grantee: string): string | null {
  if (row === null) return `there is no secret ${name}; set it with: heddle secret set ${name}`;
  return row.grants.includes(grantee) ? null : `the secret ${name} is not granted to ${grantee}`;
}

function opened(row: RetiredSecretRow, keyring: Keyring): string {
  if (!keyring.has(row.key_id)) {
    throw new HeddleError('CONFLICT', `This process has no key ${row.key_id}, which the secret ${row.name} needs`, {
      details: ['HEDDLE_SECRET_KEY_FILE: must hold the key with which the secret was set, on every server and worker'],
    });
  }
  try {
    return keyring.open(row, contextOf(row.name, row.grants));
  } catch (error) {
    throw new SecretRefusedError(`the secret ${row.name} was changed in the database; set it again`, { cause: error });
  }
}

function listed({ name, key_id, grants, created_at, updated_at }: NamedSecretRow, keyring: Keyring): ListedSecret {
  return { name, grants, readable: keyring.has(key_id), created_at, updated_at };
}
