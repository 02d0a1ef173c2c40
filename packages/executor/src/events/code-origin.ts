import { createHash } from 'node:crypto';

import type { Clock } from '@heddle/base/clock';
import type { EntryOrigin, EntrySignature, EventEntry } from './config/event-entry.ts';
import { gitSource } from './sources/git.ts';
import { localSource } from './sources/local.ts';
import { npmSource } from './sources/npm.ts';
import type { CodeSource } from './sources/port.ts';

/** Origin shared by one or more events, with the checks its code must pass. */
export interface CodeOrigin {
  /** Identical for origins that are equal in every respect. */
  readonly key: string;
  readonly source: CodeSource;
  readonly sha256: string | null;
  readonly signature: EntrySignature | null;
  readonly ephemeral: boolean;
  /** Digest of the code, once fetched; later fetches must match it. */
  digest: string | null;
}

export interface OriginOptions {
  clock: Clock;
  npmRegistry: string;
  searchPath: string;
}

export function originOf(entry: EventEntry, options: OriginOptions): CodeOrigin {
  const { origin, sha256, signature, ephemeral } = entry;
  const source = sourceOf(origin, options);
  const pinned = origin.type === 'npm' ? origin.integrity.digest.toString('hex') : null;
  const ref = origin.type === 'git' ? origin.ref : null;
  const signed = signature === null ? null : [signature.public_key.toString('hex'), signature.value.toString('hex')];
  const token = origin.type === 'local' ? null : origin.tokenFile;
  const whole = JSON.stringify([source.kind, source.label, pinned, ref, token, sha256, signed, ephemeral]);
  const key = createHash('sha256').update(whole).digest('hex');
  return { key, source, sha256, signature, ephemeral, digest: null };
}

/** Returns the origin of a directory whose modules all define events. */
export function directoryOrigin(path: string): CodeOrigin {
  const source = localSource(path);
  return { key: `directory ${path}`, source, sha256: null, signature: null, ephemeral: false, digest: null };
}

function sourceOf(origin: EntryOrigin, options: OriginOptions): CodeSource {
  switch (origin.type) {
    case 'local':
      return localSource(origin.path);
    case 'npm': {
      const registry = origin.registry ?? options.npmRegistry;
      const base = new URL(registry.endsWith('/') ? registry : `${registry}/`);
      return npmSource({ ...origin, name: origin.package, registry: base }, options.clock);
    }
    case 'git':
      return gitSource(origin, options);
  }
}
