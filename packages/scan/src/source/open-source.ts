import { statSync, type Stats } from 'node:fs';
import type { SourceSpec } from '../options.ts';
import { locatorOf, rootLocatorOf } from './byte-path.ts';
import { atPath } from './deep-path.ts';
import { DirectorySource } from './directory/directory.ts';
import { ListSource } from './list.ts';
import type { ObjectSource } from './port.ts';
import { SlicedWalk } from './slice.ts';

/** What a source receives from its caller. */
export interface SourceEnvironment {
  /** Directories, by their path in findings (without a trailing slash), to skip entirely. */
  prune?: (path: string) => boolean;
}

/**
 * Creates the source for a specification. Loads source-specific modules on demand.
 *
 * @throws Error with the remedy if the source does not exist
 */
export function openSource(
  spec: SourceSpec,
  environment: SourceEnvironment = {},
): ObjectSource | Promise<ObjectSource> {
  switch (spec.type) {
    case 'path':
      return openPath(spec, environment);
    case 'list':
      return new ListSource(spec.name, listLocatorsOf(spec));
    case 'stdin':
      return import('./stdin.ts').then(({ StdinSource }) => new StdinSource(spec.name));
    case 'git':
      return import('./git/git.ts').then(({ GitSource }) => new GitSource(spec));
    case 'staged':
      return import('./git/staged.ts').then(({ StagedSource }) => StagedSource.open(spec));
    case 'diff':
      return import('./diff/diff.ts').then(({ DiffSource }) => new DiffSource(spec));
    case 'image':
      return import('./image/image.ts').then(({ ImageSource }) => new ImageSource(spec));
    case 'github':
    case 'gitlab':
      return import('./forge/forge.ts').then(({ ForgeSource }) => new ForgeSource(spec));
    case 's3':
    case 'gcs':
    case 'azure':
      return import('./bucket/bucket-source.ts').then(({ BucketSource }) => BucketSource.open(spec));
  }
}

type PathSpec = Extract<SourceSpec, { type: 'path' }>;

function openPath(spec: PathSpec, environment: SourceEnvironment): ObjectSource {
  const root = rootLocatorOf(spec);
  let stats: Stats | undefined;
  try {
    stats = atPath(root, (path) => statSync(path, { throwIfNoEntry: false }));
  } catch (error) {
    throw new Error(`${spec.path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (stats === undefined) throw new Error(`${spec.path} does not exist; name a file or a directory`);
  if (!stats.isDirectory()) return new ListSource(spec.path, [root]);
  const walk = new DirectorySource(spec.path, {
    root,
    follow_links: spec.follow_links ?? false,
    git_objects: spec.git_objects ?? false,
    prune: environment.prune,
  });
  return spec.slice === undefined ? walk : new SlicedWalk(walk, spec.slice, root);
}

/** Returns the bytes of the listed paths. */
export function listLocatorsOf(spec: Extract<SourceSpec, { type: 'list' }>): readonly string[] {
  return spec.encoding === 'latin1' ? spec.paths : spec.paths.map(locatorOf);
}
