import type { Members } from '@heddle/base/parse/members';
import type { PathSlice, SourceSpec } from '@heddle/scan/options';
import { parsePlatform } from '@heddle/scan/archive/image/documents';
import { parseReference } from '@heddle/scan/source/image/reference';
import { objectMember, objectsMember, textsMember } from '../definition/input-schema.ts';

const SOURCES_MAX = 1000;
const PATHS_MAX = 10_000;
const PATH_CHARACTERS_MAX = 4096;
const NAMES_MAX = 4096;
const IMAGES_MAX = 100;
const IMAGE_CHARACTERS_MAX = 1000;
const TYPES = ['path', 'git', 's3', 'image', 'list'] as const;

/** Reads the member `sources`: what to scan, on the scanning machine or in object storage. */
export function readSources(input: Members): SourceSpec[] {
  input.requireAll('sources');
  if (Array.isArray(input.raw('sources')) && (input.raw('sources') as unknown[]).length === 0) {
    input.fault('sources', 'must name at least one source');
  }
  return objectsMember(input, 'sources', SOURCES_MAX).flatMap((source) => readSource(source) ?? []);
}

function readSource(source: Members): SourceSpec | null {
  source.requireAll('type');
  const type = source.oneOf('type', TYPES);
  switch (type) {
    case 'path':
      return readPath(source);
    case 'git':
      return readGit(source);
    case 's3':
      return readS3(source);
    case 'image':
      return readImage(source);
    case 'list':
      return readList(source);
    case null:
      return null;
  }
}

/** Links are not followed, since they could lead out of the permitted roots. */
function readPath(source: Members): SourceSpec {
  source.refuseOthers(['type', 'path', 'git_objects', 'slice']);
  source.requireAll('path');
  const path = source.text('path', PATH_CHARACTERS_MAX) ?? '';
  const git_objects = source.boolean('git_objects');
  const slice = source.has('slice') ? readSlice(objectMember(source, 'slice')) : null;
  return {
    type: 'path',
    path,
    ...(git_objects === null ? {} : { git_objects }),
    ...(slice === null ? {} : { slice }),
  };
}

function readSlice(slice: Members | null): PathSlice | null {
  if (slice === null) return null;
  slice.refuseOthers(['from', 'through']);
  const names = { max: NAMES_MAX, maxChars: PATH_CHARACTERS_MAX };
  return {
    from: textsMember(slice, 'from', names) ?? null,
    through: textsMember(slice, 'through', names) ?? null,
  };
}

function readGit(source: Members): SourceSpec {
  source.refuseOthers(['type', 'repository', 'revisions', 'since', 'unreachable']);
  source.requireAll('repository');
  const revisions = textsMember(source, 'revisions', { max: 1000, maxChars: 1000 });
  // A leading hyphen would make it an option of git.
  if (revisions?.some((each) => each.startsWith('-') && each !== '--all') === true) {
    source.fault('revisions', 'must be revisions or ranges, such as main..HEAD, or --all');
  }
  const since = source.text('since', 100);
  if (since?.startsWith('-') === true) source.fault('since', 'must be a time');
  const unreachable = source.boolean('unreachable');
  return {
    type: 'git',
    repository: source.text('repository', PATH_CHARACTERS_MAX) ?? '',
    ...(revisions === undefined ? {} : { revisions }),
    ...(since === null ? {} : { since }),
    ...(unreachable === null ? {} : { unreachable }),
  };
}

function readS3(source: Members): SourceSpec {
  source.refuseOthers(['type', 'bucket', 'prefix', 'endpoint', 'region', 'force_path_style']);
  source.requireAll('bucket');
  const prefix = source.text('prefix', 1024);
  const endpoint = source.text('endpoint', 1000);
  const region = source.text('region', 100);
  const force_path_style = source.boolean('force_path_style');
  return {
    type: 's3',
    bucket: source.text('bucket', 255) ?? '',
    ...(prefix === null ? {} : { prefix }),
    ...(endpoint === null ? {} : { endpoint }),
    ...(region === null ? {} : { region }),
    ...(force_path_style === null ? {} : { force_path_style }),
  };
}

function readImage(source: Members): SourceSpec {
  source.refuseOthers(['type', 'images', 'platform']);
  source.requireAll('images');
  const images = textsMember(source, 'images', { max: IMAGES_MAX, maxChars: IMAGE_CHARACTERS_MAX }) ?? [];
  // Archives and layouts on the scanning machine are files like others.
  if (images.length === 0 || images.some((image) => parseReference(image) === null)) {
    source.fault('images', 'must be names of images in a registry, such as registry.example/app:1.2');
  }
  const platform = source.text('platform', 100);
  if (platform !== null && platform !== 'all' && parsePlatform(platform) === null) {
    source.fault('platform', 'must be all, or a platform such as linux/arm64');
  }
  return { type: 'image', images: [...new Set(images)], ...(platform === null ? {} : { platform }) };
}

function readList(source: Members): SourceSpec {
  source.refuseOthers(['type', 'name', 'paths']);
  source.requireAll('paths');
  return {
    type: 'list',
    name: source.text('name', 200) ?? 'list',
    paths: textsMember(source, 'paths', { max: PATHS_MAX, maxChars: PATH_CHARACTERS_MAX }) ?? [],
  };
}
