import { resolve } from 'node:path';

import type { Members } from '../../../domain/parse/members.ts';
import { quoted } from '../../../domain/parse/path.ts';
import { parseIntegrity } from '../sources/integrity.ts';
import type { EntryOrigin } from './event-entry.ts';

const TYPES = ['local', 'npm', 'git'] as const;
/** Types that lists of other systems have, each with what to write here. */
const ALIASES: Readonly<Record<string, string>> = {
  github: 'write git with the URL of the repository and the full hash of a commit',
  pypi: 'events are JavaScript or TypeScript modules; packages come from npm',
  'event-hub': 'there is no hub of events; write local, npm or git',
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
  /** What relative paths start from. */
  directory: string;
  gitProtocols: readonly string[];
}

/** Null, with a fault, where the entry does not say where its code comes from. */
export function readOrigin(entry: Members, rules: OriginRules): EntryOrigin | null {
  const type = entry.raw('type');
  if (typeof type === 'string' && Object.hasOwn(ALIASES, type)) {
    entry.fault('type', `${quoted(type)} is none: ${ALIASES[type]!}`);
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
    entry.fault('integrity', 'is required: "sha512-…", as npm view PACKAGE@VERSION dist.integrity says it');
  }
  const name = entry.text('package', 300);
  const version = entry.text('version', 300);
  const written = entry.text('integrity', 300);
  const registry = entry.text('registry', ADDRESS_CHARS_MAX);
  if (name !== null && !PACKAGE.test(name)) entry.fault('package', `${quoted(name)} is no name of a package`);
  if (version !== null && !VERSION.test(version)) {
    entry.fault('version', `${quoted(version)} is not one exact version; ranges and tags are not pinned`);
  }
  const integrity = written === null ? null : parseIntegrity(written);
  if (written !== null && integrity === null) {
    entry.fault('integrity', 'must be one hash as lock files have it: "sha512-…", "sha384-…" or "sha256-…"');
  }
  if (registry !== null) {
    const fault = registryFault(registry);
    if (fault !== null) entry.fault('registry', fault);
  }
  if (name === null || version === null || integrity === null) return null;
  return { type: 'npm', package: name, version, integrity, registry, tokenFile: tokenFileOf(entry, rules) };
}

/** What is wrong with the address of a registry; null where nothing is. */
export function registryFault(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be an address with https';
  if (url.username !== '' || url.password !== '') return 'may not have a user or password in it';
  if (url.search !== '' || url.hash !== '') return 'may not have a query or a fragment';
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
    entry.fault(
      'commit',
      `must be the full hash of a commit, 40 or 64 digits in lower case, not ${quoted(commit, 70)}`,
    );
  }
  if (ref !== null && (!REF.test(ref) || ref.includes('..') || ref.endsWith('/') || ref.endsWith('.lock'))) {
    entry.fault('ref', `${quoted(ref)} is no name of a tag or branch`);
  }
  return url === null || commit === null
    ? null
    : { type: 'git', url, commit, ref, tokenFile: tokenFileOf(entry, rules) };
}

/**
 * Git's own addresses can name programs (`ext::`), options (`-u…`) and other machines' paths (`host:path`): only URLs of a
 * few schemes are taken.
 */
export function gitUrlFault(text: string, protocols: readonly string[]): string | null {
  const named = protocols.map((protocol) => `${protocol}://`).join(', ');
  if (!/^[a-z]+:\/\/[^\s\\]*$/.test(text)) return `must be a URL with ${named}`;
  const url = URL.parse(text);
  if (url === null || !protocols.includes(url.protocol.slice(0, -1))) return `must be a URL with ${named}`;
  if (url.username !== '' || url.password !== '') return 'may not have a user or password in it';
  if (url.hostname.startsWith('-')) return 'has a host that is none';
  if (url.search !== '' || url.hash !== '') return 'may not have a query or a fragment';
  return null;
}
