import type { Clock } from '../../../runtime/clock.ts';
import { unpackPackage } from '../archive/unpack.ts';
import { CodeFault } from '../code-fault.ts';
import { accessToken } from './access-token.ts';
import { fetchBounded } from './bounded-fetch.ts';
import { type Integrity, requireIntegrity } from './integrity.ts';
import type { CodeSource } from './port.ts';

const VERSION_DOCUMENT_BYTES_MAX = 4 * 1024 * 1024;

export interface NpmPackage {
  readonly name: string;
  /** Exact. */
  readonly version: string;
  readonly integrity: Integrity;
  /** Ends with a slash. */
  readonly registry: URL;
  /** With a token, where it is private. */
  readonly tokenFile: string | null;
}

/**
 * A package of an npm registry: its archive, checked against the pinned integrity before anything reads it. Nothing is
 * installed: no scripts run, and of its dependencies only what is bundled in it is there.
 */
export function npmSource({ name, version, integrity, registry, tokenFile }: NpmPackage, clock: Clock): CodeSource {
  return {
    kind: 'npm',
    label: `${name}@${version} of ${registry.href}`,
    fetch: async (into, signal) => {
      const token = await accessToken(tokenFile, registry);
      const bounds = { clock, signal, token, stallMs: into.limits.stall_secs * 1_000 };
      const document = await fetchBounded(new URL(`${name.replace('/', '%2f')}/${version}`, registry), {
        ...bounds,
        bytesMax: VERSION_DOCUMENT_BYTES_MAX,
        accept: 'application/json',
      });
      const packed = await fetchBounded(archiveAddress(document, registry), {
        ...bounds,
        bytesMax: into.limits.archive_bytes_max,
        accept: 'application/octet-stream',
      });
      requireIntegrity(packed, integrity);
      await unpackPackage(packed, into);
    },
  };
}

/** What the registry says of the version is believed in one thing alone: where, on its own host, the archive lies. */
function archiveAddress(document: Buffer, registry: URL): URL {
  const tarball = tarballOf(document);
  const address = tarball === null ? null : URL.parse(tarball, registry.href);
  if (address === null) throw new CodeFault('the registry does not say where the package lies');
  if (address.origin !== registry.origin) throw new CodeFault('the registry points to another host');
  return address;
}

function tarballOf(document: Buffer): string | null {
  try {
    const { dist } = JSON.parse(document.toString('utf8')) as { dist?: { tarball?: unknown } };
    return typeof dist?.tarball === 'string' ? dist.tarball : null;
  } catch {
    throw new CodeFault('the registry answers with something else than JSON');
  }
}
