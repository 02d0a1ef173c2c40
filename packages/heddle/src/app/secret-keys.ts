import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { Keyring, newSecretKey, parseSecretKey } from '@heddle/base/keyring';
import { messageOf } from '@heddle/base/thrown';
import { CommandFailure } from '@heddle/base/terminal/failure';
import { writeSecretFiles } from './remote/secret-files.ts';
import type { SettingValues } from './settings.ts';

const FILE_NAME = 'secret-keys';

type KeySettings = Pick<SettingValues, 'secretKeys' | 'secretKeyFile' | 'dataDir'>;

/** Returns the source of the keys for secrets: `HEDDLE_SECRET_KEYS`, else a file, which is read again when it changes. */
export function secretKeyring(settings: KeySettings): () => Promise<Keyring> {
  const { secretKeys } = settings;
  if (secretKeys.length > 0) {
    const keyring = new Keyring(secretKeys.map((text) => parseSecretKey(text)!));
    return () => Promise.resolve(keyring);
  }
  const path = keyFileOf(settings);
  let known: { version: string; keyring: Keyring } | null = null;
  return async () => {
    const found = await stat(path).catch(() => null);
    const version = found === null ? 'absent' : `${found.ino} ${found.mtimeMs} ${found.size}`;
    if (known?.version !== version) known = { version, keyring: new Keyring(found === null ? [] : await read(path)) };
    return known.keyring;
  };
}

/** Creates the file of the data directory unless keys are configured, or it exists. */
export async function provideSecretKeys(settings: KeySettings): Promise<void> {
  if (settings.secretKeys.length > 0 || settings.secretKeyFile !== '') return;
  const path = keyFileOf(settings);
  if ((await stat(path).catch(() => null)) === null) await addSecretKey(path);
}

/** Puts a new key in front of those of a file. */
export async function addSecretKey(path: string): Promise<void> {
  const older = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new CommandFailure(`${path}: ${messageOf(error)}`, { cause: error });
  });
  await writeSecretFiles([{ path, text: `${newSecretKey()}\n${older}` }], true);
}

export function keyFileOf({ secretKeyFile, dataDir }: KeySettings): string {
  return secretKeyFile === '' ? join(dataDir, FILE_NAME) : secretKeyFile;
}

async function read(path: string): Promise<Uint8Array[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, index) => {
    const key = parseSecretKey(line);
    if (key !== null) return key;
    throw new Error(`${path}: line ${index + 1} is not the base64 of 32 bytes; \`heddle secret new-key\` writes keys`);
  });
}
