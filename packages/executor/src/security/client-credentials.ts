import { deriveClientKey, deriveSigningKeys, KEY_BYTES, type SigningKeys } from '../protocol/mac.ts';
import { isKeyId, isName, isSecret, KEYS_MAX, record, secretBytes, secretText } from './key-fields.ts';
import { KeyFileError } from './key-file-error.ts';
import { parseKeyJson, readSecretFile } from './secret-file.ts';

/** Client file, `{"version":1,"client":…,"audience":…,"keys":[{"id":…,"secret":…}]}`, mode 0600. */
export interface ClientCredentials {
  readonly version: 1;
  readonly client: string;
  /** The executor, or group of executors, that calls are for. */
  readonly audience: string;
  /** The first key signs. `secret` is the client's own key, 32 bytes in base64url. */
  readonly keys: readonly { readonly id: string; readonly secret: string }[];
}

/** Keys with which a client signs calls and verifies responses. */
export interface ClientSigner {
  readonly client: string;
  readonly audience: string;
  readonly keyId: string;
  readonly keys: SigningKeys;
}

/** @throws KeyFileError if the file is unreadable, accessible to others, or not a client file */
export async function readClientCredentials(path: string): Promise<ClientCredentials> {
  return parseClientCredentials(parseKeyJson(await readSecretFile(path), path), path);
}

/** Validates credentials. @param source name in errors: a path or a setting */
export function parseClientCredentials(value: unknown, source: string): ClientCredentials {
  const { version, client, audience, keys } = record(value, source);
  const check = (holds: boolean, fault: string): void => {
    if (!holds) throw new KeyFileError(`${source}: ${fault}`);
  };
  check(version === 1, 'version: must be 1; expected a client file created by `heddle keys`');
  check(isName(client), 'client: must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -');
  check(isName(audience), 'audience: must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -');
  check(Array.isArray(keys) && keys.length > 0 && keys.length <= KEYS_MAX, `keys: must be a list of 1 to ${KEYS_MAX}`);
  return {
    version: 1,
    client: client as string,
    audience: audience as string,
    keys: (keys as unknown[]).map((key, index) => {
      const { id, secret } = record(key, `${source}: keys[${index}]`);
      check(isKeyId(id), `keys[${index}].id: must be 1 to 64 of A-Z a-z 0-9 . _ -`);
      check(isSecret(secret), `keys[${index}].secret: must be ${KEY_BYTES} bytes in base64url`);
      return { id: id as string, secret: secret as string };
    }),
  };
}

/** Returns the signer for the first key of the credentials. */
export function clientSigner(credentials: ClientCredentials): ClientSigner {
  const { client, audience, keys } = credentials;
  const first = keys[0];
  if (first === undefined) throw new TypeError('credentials without a key');
  return { client, audience, keyId: first.id, keys: deriveSigningKeys(secretBytes(first.secret)) };
}

/** Derives a client's credentials from the master secrets of a key ring. @param keys signing key first */
export function credentialsFor(
  client: string,
  audience: string,
  keys: readonly { readonly id: string; readonly secret: Uint8Array }[],
): ClientCredentials {
  return {
    version: 1,
    client,
    audience,
    keys: keys.map(({ id, secret }) => ({ id, secret: secretText(deriveClientKey(secret, client)) })),
  };
}
