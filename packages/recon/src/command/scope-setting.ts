import { readFileSync } from 'node:fs';

import { HeddleError } from '@heddle/base/errors';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { messageOf } from '@heddle/base/thrown';
import { createScope } from '../targets/scope.ts';
import { linesOf, type LocatedText } from '../targets/target-lines.ts';

/** The setting with the operator's scope. The command reads it too, from the environment only. */
export const SCOPE_SETTING = {
  name: 'HEDDLE_RECON_SCOPE',
  allowed: 'a comma-separated list of addresses, networks, ranges, domains, and files as @PATH',
} as const;

/** Parses an entry of the setting: a scope entry or the name of a file; null for anything else. */
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
 * Returns the scope that the environment sets.
 * @throws ConfigurationError if it cannot be read
 */
export function scopeOfEnvironment(environment: NodeJS.ProcessEnv): LocatedText[] {
  const { name, allowed } = SCOPE_SETTING;
  const given = (environment[name] ?? '').split(',').map((entry) => entry.trim());
  const entries = given.filter((entry) => entry !== '');
  if (entries.every((entry) => scopeEntry(entry) !== null)) return scopeEntries(entries);
  throw new ConfigurationError([`${name}: must be ${allowed} (environment)`]);
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
        : [{ text: entry, place: SCOPE_SETTING.name }],
    );
    createScope(entries);
    return entries;
  } catch (error) {
    throw new ConfigurationError([`${SCOPE_SETTING.name}: ${messageOf(error)}`]);
  }
}
