import { stat } from 'node:fs/promises';

import type { Keyring } from '@heddle/base/keyring';
import { count } from '@heddle/base/terminal/text';
import { messageOf } from '@heddle/base/thrown';
import { unreadableSecrets } from '@heddle/core/engine/secrets/named-secrets';
import type { Queryable } from '@heddle/core/store/database';
import { fail, ok, type Check } from './check.ts';
import { keyFileOf, secretKeyring } from './secret-keys.ts';
import type { SettingValues } from './settings.ts';

const NAME = 'secret keys';
const SHOWN_MAX = 5;

/**
 * Checks the keys of secrets, and whether they open all of them.
 * @param database null: there is none yet
 */
export async function checkSecretKeys(settings: SettingValues, database: Queryable | null): Promise<Check> {
  const isFile = settings.secretKeys.length === 0;
  const path = keyFileOf(settings);
  let keyring: Keyring;
  try {
    keyring = await secretKeyring(settings)();
  } catch (error) {
    return fail(
      NAME,
      messageOf(error),
      `make ${path} readable for this user, with one key a line, or set HEDDLE_SECRET_KEY_FILE`,
    );
  }
  const found = isFile ? await stat(path).catch(() => null) : null;
  if (found !== null && (found.mode & 0o077) !== 0) {
    return fail(NAME, `${path} is readable by other users`, `chmod 600 ${path}`);
  }
  if (isFile && settings.secretKeyFile !== '' && found === null) {
    return fail(NAME, `${path} (HEDDLE_SECRET_KEY_FILE) does not exist`, `heddle secret new-key ${path}`);
  }
  const { unreadable, total } =
    database === null ? { unreadable: [], total: 0 } : await unreadableSecrets(database, keyring);
  if (unreadable.length > 0) {
    const shown = unreadable.slice(0, SHOWN_MAX).join('; ');
    const more = unreadable.length > SHOWN_MAX ? ` and ${unreadable.length - SHOWN_MAX} more` : '';
    return fail(NAME, `${shown}${more}`, 'add the missing key to those of this process, or set the secrets again');
  }
  if (keyring.current === null) return ok(NAME, 'none, and no secrets');
  const source = isFile ? path : 'HEDDLE_SECRET_KEYS';
  return ok(NAME, `${source}, ${total === 0 ? 'no secrets yet' : `opens ${count(total, 'secret')}`}`);
}
