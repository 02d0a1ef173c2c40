import { resolve } from 'node:path';

import type { Members } from '@heddle/base/parse/members';
import { quoted } from '@heddle/base/parse/path';
import { parseIntegrity } from '../sources/integrity.ts';
import type { EntryOrigin } from './event-entry.ts';

const TYPES = ['local', 'npm', 'git'] as const;
/** Types used by other systems, each with its replacement. */
const ALIASES: Readonly<Record<string, string>> = {
  github: 'use git with the URL of the repository and the full hash of a commit',
  pypi: 'events are JavaScript or TypeScript modules; packages come from npm',
  'event-hub': 'there is no event hub; use local, npm or git',
};

export const ORIGIN_MEMBERS = {
  local: ['path'],
  npm: ['package', 'version', 'integrity', 'registry', 'token_file'],
  git: ['url', 'commit', 'ref', 'token_file'],
} as const;

const ADDRESS_CHARS_MAX = 2_000;
const PACKAGE = /^(@[a-z0-9~][a-z0-9._~-]{0,99}\/)?[a-z0-9~][a-z0-9._~-]{0,199}$/;
const VERSION = /^\d{1,9}\.\d{1,9}\.\d{1,9}(-[0-9A-Za-z.-]{1,100})?(\+[0-9A-Za-z.-]{1,100})?$/;
const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const REF = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/;

export interface OriginRules {
  /** Base of relative paths. */
  directory: string;
  gitProtocols: readonly string[];
}

/** Reads the origin of an entry's code. Returns null and records a fault if it is invalid. */
export function readOrigin(entry: Members, rules: OriginRules): EntryOrigin | null {
  const type = entry.raw('type');
  if (typeof type === 'string' && Object.hasOwn(ALIASES, type)) {
    entry.fault('type', `${quoted(type)} is not supported: ${ALIASES[type]!}`);
    return null;
  }
  switch (entry.oneOf('type', TYPES)) {
    case 'local':
      return localOrigin(entry, rules);
    case 'npm':
      return npmOrigin(entry, rules);
    case 'git':
      return gitOrigin(entry, rules);
    case null:
      if (!entry.has('type')) entry.fault('type', 'is required: "local", "npm" or "git"');
      return null;
  }
}

function localOrigin(entry: Members, { directory }: OriginRules): EntryOrigin | null {
  entry.requireAll('path');
  const path = entry.text('path', ADDRESS_CHARS_MAX);
  return path === null ? null : { type: 'local', path: resolve(directory, path) };
}

function npmOrigin(entry: Members, rules: OriginRules): EntryOrigin | null {
  entry.requireAll('package', 'version');
  if (!entry.has('integrity')) {
    entry.fault('integrity', 'is required: "sha512-…", as printed by npm view PACKAGE@VERSION dist.integrity');
  }
  const name = entry.text('package', 300);
  const version = entry.text('version', 300);
  const written = entry.text('integrity', 300);
  const registry = entry.text('registry', ADDRESS_CHARS_MAX);
  if (name !== null && !PACKAGE.test(name)) entry.fault('package', `${quoted(name)} is not a package name`);
  if (version !== null && !VERSION.test(version)) {
    entry.fault('version', `${quoted(version)} is not an exact version; ranges and tags cannot be pinned`);
  }
  const integrity = written === null ? null : parseIntegrity(written);
  if (written !== null && integrity === null) {
    entry.fault('integrity', 'must be a single hash as in a lock file: "sha512-…", "sha384-…" or "sha256-…"');
  }
  if (registry !== null) {
    const fault = registryFault(registry);
    if (fault !== null) entry.fault('registry', fault);
  }
  if (name === null || version === null || integrity === null) return null;
  return { type: 'npm', package: name, version, integrity, registry, tokenFile: tokenFileOf(entry, rules) };
}

/** Returns what is wrong with a registry's URL; null if it is valid. */
export function registryFault(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or password';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or fragment';
  return null;
}

function tokenFileOf(entry: Members, { directory }: OriginRules): string | null {
  const file = entry.text('token_file', ADDRESS_CHARS_MAX);
  return file === null ? null : resolve(directory, file);
}

function gitOrigin(entry: Members, rules: OriginRules): EntryOrigin | null {
  entry.requireAll('url', 'commit');
  const url = entry.text('url', ADDRESS_CHARS_MAX);
  const commit = entry.text('commit', 300);
  const ref = entry.text('ref', 300);
  const urlFault = url === null ? null : gitUrlFault(url, rules.gitProtocols);
  if (urlFault !== null) entry.fault('url', urlFault);
  if (commit !== null && !COMMIT.test(commit)) {
    entry.fault('commit', `must be a full commit hash, 40 or 64 lower-case digits (got ${quoted(commit, 70)})`);
  }
  if (ref !== null && (!REF.test(ref) || ref.includes('..') || ref.endsWith('/') || ref.endsWith('.lock'))) {
    entry.fault('ref', `${quoted(ref)} is not a tag or branch name`);
  }
  return url === null || commit === null
    ? null
    : { type: 'git', url, commit, ref, tokenFile: tokenFileOf(entry, rules) };
}

/**
 * Git addresses can name programs (`ext::`), options (`-u…`) and remote paths (`host:path`), so only URLs with a few
 * schemes are accepted.
 */
function gitUrlFault(text: string, protocols: readonly string[]): string | null {
  const named = protocols.map((protocol) => `${protocol}://`).join(', ');
  if (!/^[a-z]+:\/\/[^\s\\]*$/.test(text)) return `must be a URL starting with ${named}`;
  const url = URL.parse(text);
  if (url === null || !protocols.includes(url.protocol.slice(0, -1))) return `must be a URL starting with ${named}`;
  if (url.username !== '' || url.password !== '') return 'must not contain a user or password';
  if (url.hostname.startsWith('-')) return 'has an invalid host';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or fragment';
  return null;
}
