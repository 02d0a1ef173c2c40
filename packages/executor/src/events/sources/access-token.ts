import { readFile } from 'node:fs/promises';

import { CodeFault } from '../code-fault.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Reads the token of a private source, at each pull so that it can be rotated; null if no file is set.
 *
 * @throws CodeFault if the file is unreadable or the token would be sent unencrypted
 */
export async function accessToken(file: string | null, address: URL): Promise<string | null> {
  if (file === null) return null;
  if (address.protocol !== 'https:' && !(address.protocol === 'http:' && LOOPBACK.has(address.hostname))) {
    throw new CodeFault('its token can only be sent over https');
  }
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CodeFault('its token file cannot be read', error);
  });
  const token = text.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(token)) throw new CodeFault('its token file has no valid token');
  return token;
}
