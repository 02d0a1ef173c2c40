import { readFile } from 'node:fs/promises';

import { CodeFault } from '../code-fault.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The token for a private source, read at each pull so that it may change; null where no file is named.
 *
 * @throws CodeFault where it cannot be read, or would be sent where others can see it
 */
export async function accessToken(file: string | null, address: URL): Promise<string | null> {
  if (file === null) return null;
  if (address.protocol !== 'https:' && !(address.protocol === 'http:' && LOOPBACK.has(address.hostname))) {
    throw new CodeFault('its token is sent over https alone');
  }
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CodeFault('the file of its token cannot be read', error);
  });
  const token = text.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(token)) throw new CodeFault('the file of its token has no token');
  return token;
}
