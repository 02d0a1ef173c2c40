import type { Clock } from '@heddle/base/clock';
import { unpackPackage } from '../archive/unpack.ts';
import { CodeFault } from '../code-fault.ts';
import { accessToken } from './access-token.ts';
import { fetchBounded } from './bounded-fetch.ts';
import { type Integrity, requireIntegrity } from './integrity.ts';
import type { CodeSource } from './port.ts';

const VERSION_DOCUMENT_BYTES_MAX = 4 * 1024 * 1024;

export interface NpmPackage {
  readonly name: string;
  /** Exact version. */
  readonly version: string;
  readonly integrity: Integrity;
  /** Ends with a slash. */
  readonly registry: URL;
  /** File with an access token for private packages. */
  readonly tokenFile: string | null;
}

/**
 * Returns the source of an npm package: its archive, verified against the pinned integrity before it is parsed. Nothing
 * is installed: no scripts run, and only bundled dependencies are included.
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

/** Takes only the archive's location from the registry's document, and only on the registry's own host. */
function archiveAddress(document: Buffer, registry: URL): URL {
  const tarball = tarballOf(document);
  const address = tarball === null ? null : URL.parse(tarball, registry.href);
  if (address === null) throw new CodeFault("the registry's response does not name the package archive");
  if (address.origin !== registry.origin) throw new CodeFault('the package archive is on another host');
  return address;
}

function tarballOf(document: Buffer): string | null {
  try {
    const { dist } = JSON.parse(document.toString('utf8')) as { dist?: { tarball?: unknown } };
    return typeof dist?.tarball === 'string' ? dist.tarball : null;
  } catch {
    throw new CodeFault("the registry's response is not JSON");
  }
}
