import type { SourceSpec } from '../options.ts';
import { FileOpener } from './file-opener.ts';
import { BlobOpener } from './git/blob-opener.ts';
import { rootLocatorOf } from './open-source.ts';
import type { ObjectOpener } from './port.ts';
import { S3Opener } from './s3/object-opener.ts';
import { StdinOpener } from './stdin.ts';

/** Makes what opens the objects of a source; the source itself may live in another thread. */
export function openOpener(spec: SourceSpec): ObjectOpener | Promise<ObjectOpener> {
  switch (spec.type) {
    case 'path': {
      const root = rootLocatorOf(spec);
      return new FileOpener({ follow_links: spec.follow_links ?? false, isNamed: (locator) => locator === root });
    }
    case 'list':
      return new FileOpener({ follow_links: true, isNamed: () => true });
    case 'stdin':
      return new StdinOpener();
    case 'git':
      return BlobOpener.open(spec);
    case 's3':
      return S3Opener.open(spec);
  }
}
