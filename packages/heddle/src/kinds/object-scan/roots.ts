import { realpathSync } from 'node:fs';
import { resolve, sep } from 'node:path';

import type { SourceSpec } from '@heddle/scan/options';
import { parseReference } from '@heddle/scan/source/image/reference';

interface Bucket {
  bucket: string;
  prefix: string;
  endpoint: string | null;
}

/** Repositories of a registry. */
interface ImageRoot {
  origin: string;
  /** Empty for all of them, or ends with a slash. */
  parent: string;
}

/**
 * Restricts what scans may read on this machine: permission to submit a task must not imply permission to read the
 * whole disk.
 */
export class ScanRoots {
  readonly #entries: readonly string[];
  readonly #directories: readonly string[];
  readonly #buckets: readonly Bucket[];
  readonly #images: readonly ImageRoot[];

  /** @param entries directories, files, `s3://BUCKET/PREFIX?endpoint=URL` and `image:REPOSITORY` */
  constructor(entries: readonly string[]) {
    this.#entries = entries;
    this.#directories = entries.filter((entry) => !isBucket(entry) && !isImage(entry));
    this.#buckets = entries.filter(isBucket).map(bucketOf);
    this.#images = entries.filter(isImage).flatMap((entry) => imageRoot(entry) ?? []);
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
          for (const image of source.images) this.#requireImage(image);
          break;
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

  #requireImage(image: string): void {
    const { origin, repository } = parseReference(image) ?? {};
    const isAllowed = this.#images.some((root) => root.origin === origin && `${repository}/`.startsWith(root.parent));
    if (!isAllowed) throw this.#refusal(`the image ${image}`);
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

/** Returns whether an entry is a path, or a well-formed address. */
export function isScanRoot(entry: string): boolean {
  if (isImage(entry)) return imageRoot(entry) !== null;
  return !/^s3:/i.test(entry) || (/^s3:\/\/[^/?\s]+/i.test(entry) && URL.canParse(entry));
}

function isBucket(entry: string): boolean {
  return /^s3:\/\//i.test(entry);
}

function isImage(entry: string): boolean {
  return /^image:/i.test(entry);
}

/** Parses `image:registry.example/team`, or a whole registry; null for anything else. */
function imageRoot(entry: string): ImageRoot | null {
  const parent = entry.replace(/^image:/i, '').replace(/\/$/, '');
  // A name below it, with more parts than those that a registry completes.
  const below = parseReference(`${parent}/x/x`);
  return below === null ? null : { origin: below.origin, parent: below.repository.slice(0, -'x/x'.length) };
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
