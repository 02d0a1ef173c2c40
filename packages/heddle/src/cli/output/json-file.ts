import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';

import { UsageFailure } from './failure.ts';

const READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
  ENAMETOOLONG: 'the name is too long',
};

/**
 * Reads JSON from a file; `-` reads standard input.
 * @param form expected form, shown in the error if the JSON is invalid
 * @throws UsageFailure
 */
export async function readJsonFile(file: string, stdin: Readable, form: string): Promise<unknown> {
  const text = await readSource(file, stdin);
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const details = [(error as Error).message];
    throw new UsageFailure(`${sourceName(file)} is not valid JSON`, { details, hint: form });
  }
}

/** Name of the source in messages. */
export function sourceName(file: string): string {
  return file === '-' ? 'standard input' : file;
}

async function readSource(file: string, stdin: Readable): Promise<string> {
  if (file === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array | string));
    return Buffer.concat(chunks).toString('utf8');
  }
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageFailure(
      `${file} cannot be read: ${READ_FAULTS[(error as NodeJS.ErrnoException).code ?? ''] ?? String(error)}`,
    );
  }
}
