/** Git repositories for tests. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { makeTree, temporaryDirectory, type Tree } from './tree.ts';

/** The directory of all of them. */
export const root = temporaryDirectory();
let clock = 1_700_000_000;

/** Runs git with a neutral identity and a fixed time. */
export function git(repository: string, ...args: string[]): string {
  clock += 60;
  const identity = { NAME: 'Ada', EMAIL: 'ada@example.org', DATE: `${clock} +0000` };
  const pairs = Object.entries(identity);
  const env = {
    PATH: process.env['PATH'],
    HOME: root,
    GIT_CONFIG_NOSYSTEM: '1',
    ...Object.fromEntries(
      pairs.flatMap(([key, value]) => [
        [`GIT_AUTHOR_${key}`, value],
        [`GIT_COMMITTER_${key}`, value],
      ]),
    ),
  };
  return execFileSync('git', ['-C', repository, ...args], { env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

let repositories = 0;

/** Creates an empty one, which is removed with the process. */
export function newRepository(...options: string[]): string {
  repositories += 1;
  const path = join(root, `repository${repositories}`);
  mkdirSync(path);
  git(path, 'init', '-q', '-b', 'main', ...options);
  return path;
}

/** Adds files and commits all changes; returns the commit's id. */
export function commit(repository: string, message: string, tree: Tree): string {
  makeTree(repository, tree);
  git(repository, 'add', '-A');
  git(repository, 'commit', '-q', '--allow-empty', '-m', message);
  return git(repository, 'rev-parse', 'HEAD');
}
