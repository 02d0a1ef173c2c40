import type { SourceSpec } from '../options.ts';
import { FileOpener } from './file-opener.ts';
import { rootLocatorOf } from './byte-path.ts';
import type { ObjectOpener } from './port.ts';

/**
 * Creates the opener for the objects of a source, which may live in another thread. Loads source-specific modules on
 * demand.
 */
export function openOpener(spec: SourceSpec): ObjectOpener | Promise<ObjectOpener> {
  switch (spec.type) {
    case 'path': {
      const root = rootLocatorOf(spec);
      return new FileOpener({ follow_links: spec.follow_links ?? false, isNamed: (locator) => locator === root });
    }
    case 'list':
      return new FileOpener({ follow_links: true, isNamed: () => true });
    case 'stdin':
      return import('./stdin.ts').then(({ StdinOpener }) => new StdinOpener());
    case 'git':
    case 'staged':
      return import('./git/blob-opener.ts').then(({ BlobOpener }) => BlobOpener.open(spec));
    case 'diff':
      return import('./diff/diff-opener.ts').then(({ DiffOpener }) => new DiffOpener(spec));
    case 'image':
      return import('./image/image.ts').then(({ ImageOpener }) => new ImageOpener(spec));
    case 'github':
    case 'gitlab':
      return import('./forge/opener.ts').then(({ ForgeOpener }) => new ForgeOpener());
    case 's3':
    case 'gcs':
    case 'azure':
      return import('./bucket/object-opener.ts').then(({ BucketOpener }) => BucketOpener.open(spec));
  }
}
