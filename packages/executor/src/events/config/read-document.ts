import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse as parseToml } from 'smol-toml';

import { HeddleError } from '@heddle/base/errors';
import { parseStrictJson } from '@heddle/base/json/parse';
import { parseYaml } from '@heddle/base/yaml';

const BYTES_MAX = 4 * 1024 * 1024;

/** A parsed event list, before validation. */
export interface EventListDocument {
  readonly content: unknown;
  /** Name in messages. */
  readonly name: string;
  /** Base of relative paths. */
  readonly directory: string;
}

/**
 * Reads an event list: a file (TOML or YAML by extension, otherwise JSON), or inline JSON.
 *
 * @throws HeddleError VALIDATION_FAILED
 */
export async function readDocument(given: string): Promise<EventListDocument> {
  if (/^\s*[[{]/.test(given)) {
    const name = 'given inline';
    return { content: parse(Buffer.from(given), name), name, directory: resolve('.') };
  }
  const name = resolve(given);
  const bytes = await readFile(name).catch((error: unknown) => {
    throw refused(name, [`cannot be read: ${(error as Error).message}`], error);
  });
  return { content: parse(bytes, name), name, directory: dirname(name) };
}

function parse(bytes: Buffer, name: string): unknown {
  if (bytes.length > BYTES_MAX) throw refused(name, [`has more than ${BYTES_MAX} bytes`]);
  try {
    if (name.endsWith('.toml')) return parseToml(bytes.toString('utf8'));
    return /\.ya?ml$/.test(name) ? parseYaml(bytes.toString('utf8')) : parseStrictJson(bytes, '');
  } catch (error) {
    const details = error instanceof HeddleError ? error.details : [(error as Error).message];
    throw refused(name, details, error);
  }
}

/** @param name of the list */
export function refused(name: string, details: readonly string[], cause?: unknown): HeddleError {
  return new HeddleError('VALIDATION_FAILED', `The event list ${name} is invalid`, { details, cause });
}
