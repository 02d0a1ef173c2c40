import { readFileSync } from 'node:fs';

import { HeddleError } from '@heddle/base/errors';
import { linesOf, type LocatedText } from '@heddle/recon/targets/target-lines';
import { createScope } from '@heddle/recon/targets/scope';
import { ConfigurationError } from '@heddle/base/terminal/failure';

/** Parses an entry of a scope setting: a scope entry or the name of a file; null for anything else. */
export function scopeEntry(given: string): string | null {
  if (given.startsWith('@')) return given.length > 1 ? given : null;
  try {
    createScope([given]);
    return given;
  } catch (error) {
    if (error instanceof HeddleError) return null;
    throw error;
  }
}

/**
 * Returns the entries of a scope, including those of files.
 * @throws ConfigurationError if a file cannot be read or has an invalid entry
 */
export function scopeEntries(setting: readonly string[]): LocatedText[] {
  try {
    const entries = setting.flatMap((entry): LocatedText[] =>
      entry.startsWith('@')
        ? [...linesOf(readFileSync(entry.slice(1), 'utf8'), entry.slice(1))]
        : [{ text: entry, place: 'HEDDLE_RECON_SCOPE' }],
    );
    createScope(entries);
    return entries;
  } catch (error) {
    throw new ConfigurationError([`HEDDLE_RECON_SCOPE: ${error instanceof Error ? error.message : String(error)}`]);
  }
}
