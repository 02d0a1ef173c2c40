import { parseSecretKey } from '@heddle/base/keyring';
import * as kind from './setting.ts';

/** Keys that encrypt the secrets of tasks. */
export const SECRET_SETTING_GROUPS = {
  Secrets: {
    secretKeys: kind.list({
      name: 'HEDDLE_SECRET_KEYS',
      fallback: [],
      fallbackText: 'those of `HEDDLE_SECRET_KEY_FILE`',
      secret: true,
      allowed: 'a comma-separated list of keys, each the base64 of 32 bytes',
      item: (given) => (parseSecretKey(given) === null ? null : given),
      description: 'Keys that encrypt the secrets of tasks: the first encrypts, all of them decrypt',
    }),
    secretKeyFile: kind.text({
      name: 'HEDDLE_SECRET_KEY_FILE',
      fallback: '',
      fallbackText: '`secret-keys` in the data directory, which `heddle up` creates',
      description: 'File with such keys, one a line; it is read again when it changes',
    }),
  },
} as const;
