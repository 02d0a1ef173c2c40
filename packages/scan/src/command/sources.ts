import { readFileSync, statSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';

import type { SourceSpec } from '../options.ts';
import { refused, systemFault } from '@heddle/base/terminal/refusal';
import { isLocalImage, parseReference } from '../source/image/reference.ts';
import { bucketSource, refuseBucketContradictions } from './bucket-sources.ts';
import { forgeSources, refuseForgeContradictions } from './forge-sources.ts';
import type { ScanRequest } from './options.ts';

export interface ScanSources {
  specs: readonly SourceSpec[];
  /** The directories among the sources, which are searched for rules and lists of fingerprints. */
  directories: readonly string[];
}

/** The name of standard input on the command line. */
export const STDIN = '-';

/** Reads a list, or all of standard input. */
export type ReadText = (path: string) => Buffer;

/** Returns the sources to scan; refuses missing or contradictory ones before anything is read. */
export function sourcesOf(request: ScanRequest, readList: ReadText = readWhole): ScanSources {
  refuseContradictions(request);
  if (request.staged) return stagedSources(request.paths.length === 0 ? ['.'] : request.paths);
  const named = [...new Set(request.paths)];
  const nothing = named.length === 0 && otherInput(request) === null;
  const specs: SourceSpec[] = [];
  const directories: string[] = [];
  for (const path of nothing ? ['.'] : named) {
    const { spec, isDirectory } = pathSource(path, request);
    specs.push(spec);
    if (isDirectory) directories.push(path);
  }
  for (const repository of new Set(request.git)) {
    specs.push(gitSource(repository, request));
    directories.push(repository);
  }
  if (request.images.length > 0) specs.push(imageSource(request));
  specs.push(...forgeSources(request));
  if (request.diff !== null) specs.push(diffSource(request.diff));
  if (request.filesFrom !== null) specs.push(listSource(request.filesFrom, request.nullSeparated, readList));
  return { specs, directories };
}

/** A commit of selected files has its own index, which git passes to its hooks. */
function stagedSources(repositories: readonly string[]): ScanSources {
  const { GIT_INDEX_FILE: index } = process.env;
  const specs = repositories.map((repository): SourceSpec => {
    if (!statusOf(repository).isDirectory())
      throw refused(`--staged ${repository}: is not a directory; name a repository`);
    const isHere = resolve(repository) === resolve('.');
    return { type: 'staged', repository, ...(isHere && index ? { index_file: resolve(index) } : {}) };
  });
  return { specs, directories: repositories };
}

/** Returns the flag of an input that is not a path; null without one. */
function otherInput({ git, github, gitlab, images, filesFrom, diff }: ScanRequest): string | null {
  if (git.length > 0) return '--git';
  if (github.length > 0) return '--github';
  if (gitlab.length > 0) return '--gitlab';
  if (images.length > 0) return '--image';
  return filesFrom !== null ? '--files-from' : diff === null ? null : '--diff';
}

function imageSource({ images, platform }: ScanRequest): SourceSpec {
  for (const image of images) {
    if (isLocalImage(image)) statusOf(image, `--image ${image}`);
    else if (parseReference(image) === null)
      throw refused(
        `--image ${image}: must be an image such as registry.example/app:1.2, or a path such as ./image.tar`,
      );
  }
  return { type: 'image', images: [...new Set(images)], ...(platform === null ? {} : { platform }) };
}

function refuseContradictions(request: ScanRequest): void {
  const { paths, git, revisions, since, unreachable, filesFrom, nullSeparated, staged } = request;
  const { diff, images, platform } = request;
  refuseForgeContradictions(request);
  const other = otherInput(request);
  if (staged && other !== null) {
    throw refused(`--staged and ${other} contradict each other; use one of them`);
  }
  const readers = [
    ...(diff === STDIN ? ['--diff -'] : []),
    ...(filesFrom === STDIN ? ['--files-from -'] : []),
    ...(paths.includes(STDIN) ? ['the path -'] : []),
  ];
  if (readers.length > 1) {
    throw refused(`${readers[0]!} and ${readers[1]!} both read standard input; name a file for one of them`);
  }
  if (git.length === 0 && revisions.length > 0) throw refused('--revisions needs --git REPOSITORY');
  if (git.length === 0 && since !== null) throw refused('--since needs --git REPOSITORY');
  if (git.length === 0 && unreachable) throw refused('--unreachable needs --git REPOSITORY');
  if (images.length === 0 && platform !== null) throw refused('--platform needs --image REFERENCE');
  if (filesFrom === null && nullSeparated) throw refused('-0 needs --files-from FILE');
  refuseBucketContradictions(request);
}

function pathSource(path: string, request: ScanRequest): { spec: SourceSpec; isDirectory: boolean } {
  if (path === STDIN) return { spec: { type: 'stdin', name: 'stdin' }, isDirectory: false };
  const bucket = bucketSource(path, request);
  if (bucket !== null) return { spec: bucket, isDirectory: false };
  if (path === '') throw refused('a path is empty; name a file or a directory, or . for the working directory');
  const { followLinks, gitObjects } = request;
  const isDirectory = statusOf(path).isDirectory();
  return { spec: { type: 'path', path, follow_links: followLinks, git_objects: gitObjects }, isDirectory };
}

function statusOf(path: string, what = path): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw refused(`${what}: ${systemFault(error)}${hintFor(path)}`, error);
  }
}

function hintFor(path: string): string {
  const forge = /^https:\/\/(github|gitlab)\.com\/([\w.-]+(?:\/[\w.-]+)*?)(?:\.git)?\/?$/.exec(path);
  if (forge !== null) return `; to scan it with its history and issues, name it with --${forge[1]!} ${forge[2]!}`;
  if (/^(https?|ssh|git):\/\/|^git@/.test(path)) return '; clone it first, and name the clone with --git';
  return '';
}

function gitSource(repository: string, { revisions, since, unreachable }: ScanRequest): SourceSpec {
  if (!statusOf(repository, `--git ${repository}`).isDirectory()) {
    throw refused(`--git ${repository}: is not a directory; name a repository`);
  }
  const option = revisions.find((each) => each.startsWith('-') && each !== '--all');
  if (option !== undefined) throw refused(`--revisions ${option}: must be a revision or a range, such as main..HEAD`);
  return {
    type: 'git',
    repository,
    ...(revisions.length === 0 ? {} : { revisions }),
    ...(since === null ? {} : { since }),
    ...(unreachable ? { unreachable } : {}),
  };
}

function diffSource(file: string): SourceSpec {
  if (statusOf(file, `--diff ${file}`).isDirectory()) {
    throw refused(`--diff ${file}: is a directory; name a diff, or scan the directory as a path`);
  }
  return { type: 'diff', name: file, file };
}

/** An empty list is valid: there is nothing to scan, as after `git diff --name-only` without changes. */
function listSource(file: string, nullSeparated: boolean, readList: ReadText): SourceSpec {
  let content: Buffer;
  try {
    content = readList(file);
  } catch (error) {
    throw refused(`--files-from ${file}: ${systemFault(error)}`, error);
  }
  // Paths need not be UTF-8: they are passed on as bytes.
  const lines = content.toString('latin1').split(nullSeparated ? '\0' : /\r?\n/);
  const paths = lines.filter((line) => line !== '');
  if (!nullSeparated && paths.some((path) => path.includes('\0'))) {
    throw refused(`--files-from ${file}: contains NUL bytes; add -0 if they separate the paths`);
  }
  return { type: 'list', name: file === STDIN ? 'standard input' : file, paths, encoding: 'latin1' };
}

function readWhole(path: string): Buffer {
  return readFileSync(path === STDIN ? 0 : path);
}
