import { realpathSync } from 'node:fs';
import { resolve, sep } from 'node:path';

import type { SourceSpec } from '@heddle/scan/options';

interface Bucket {
  bucket: string;
  prefix: string;
  endpoint: string | null;
}

/**
 * Restricts what scans may read on this machine: permission to submit a task must not imply permission to read the
 * whole disk.
 */
export class ScanRoots {
  readonly #entries: readonly string[];
  readonly #directories: readonly string[];
  readonly #buckets: readonly Bucket[];

  /** @param entries directories, files, and `s3://BUCKET/PREFIX?endpoint=URL` */
  constructor(entries: readonly string[]) {
    this.#entries = entries;
    this.#directories = entries.filter((entry) => !isBucket(entry));
    this.#buckets = entries.filter(isBucket).map(bucketOf);
  }

  /** @throws Error with the reason and the remedy if a source must not be read */
  requireAllowed(sources: readonly SourceSpec[]): void {
    for (const source of sources) {
      switch (source.type) {
        case 'path':
          this.requirePath(source.path);
          break;
        case 'git':
        case 'staged':
          this.requirePath(source.repository);
          break;
        case 'list':
          for (const path of source.paths) this.requirePath(path);
          break;
        case 'diff':
          this.requirePath(source.file);
          break;
        case 's3':
          this.#requireBucket(source);
          break;
        case 'image':
          throw new Error('a task cannot scan images; use heddle scan --image');
        case 'gcs':
        case 'azure':
          throw new Error('a task can scan buckets with the S3 API only; use heddle scan');
        case 'github':
        case 'gitlab':
          throw new Error(`a task cannot scan repositories of a server; use heddle scan --${source.type}`);
        case 'stdin':
          throw new Error('a task has no standard input to scan');
      }
    }
  }

  /** Also refuses a path below a root that leads out of it through a link. */
  requirePath(path: string): void {
    const named = resolve(path);
    const roots = this.#directories.flatMap((root) => [resolve(root), realPathOf(resolve(root)) ?? resolve(root)]);
    const inside = (place: string): boolean => roots.some((root) => isWithin(place, root));
    if (!inside(named)) throw this.#refusal(path);
    const real = realPathOf(named);
    if (real !== null && !inside(real)) throw this.#refusal(`${path} (which leads to ${real})`);
  }

  #requireBucket({ bucket, prefix = '', endpoint }: Extract<SourceSpec, { type: 's3' }>): void {
    const allowed = this.#buckets.some(
      (root) =>
        root.bucket === bucket && prefix.startsWith(root.prefix) && sameEndpoint(root.endpoint, endpoint ?? null),
    );
    if (allowed) return;
    const at = endpoint === undefined ? '' : ` at ${endpoint}`;
    throw this.#refusal(`s3://${bucket}/${prefix}${at}`);
  }

  #refusal(what: string): Error {
    const allowed = this.#entries.join(', ');
    const rule =
      this.#entries.length === 0
        ? 'this process may scan nothing: HEDDLE_SCAN_ROOTS is not set'
        : `this process may scan ${allowed} (HEDDLE_SCAN_ROOTS)`;
    return new Error(
      `${what} may not be read: ${rule}; its operator can add to HEDDLE_SCAN_ROOTS what should be scanned`,
    );
  }
}

function isBucket(entry: string): boolean {
  return /^s3:\/\//i.test(entry);
}

function bucketOf(entry: string): Bucket {
  const url = new URL(entry);
  return {
    bucket: url.host,
    prefix: decodeURIComponent(url.pathname.slice(1)),
    endpoint: url.searchParams.get('endpoint'),
  };
}

function sameEndpoint(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  return URL.parse(one)?.href === URL.parse(other)?.href;
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
