import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';

import { refused } from '@heddle/base/terminal/refusal';
import { messageOf } from '@heddle/base/thrown';
import { runGit } from '../../source/git/command.ts';

/** What `init` has to know of a repository. */
export interface RepositorySetup {
  root: string;
  /** The directory of the hooks; null if it is outside of the repository, where it serves others too. */
  hooks: string | null;
  hasPreCommitConfig: boolean;
  isOnGithub: boolean;
  isOnGitlab: boolean;
  /** Files that git tracks or would add, as bytes in latin1. */
  files: readonly string[];
}

/** Inspects the repository that contains a directory. */
export async function inspectSetup(directory: string): Promise<RepositorySetup> {
  const git = async (...args: string[]): Promise<string> => (await runGit(directory, args)).toString('latin1');
  try {
    const top = await git('rev-parse', '--show-toplevel', '--git-common-dir');
    const [root = '', common = ''] = top.split('\n').map((line) => Buffer.from(line, 'latin1').toString());
    const remotes = await git('remote', '-v');
    const listed = (
      await runGit(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'])
    ).toString('latin1');
    const files = listed.split('\0').filter((name) => name !== '');
    return {
      root,
      hooks: hooksOf(
        root,
        resolve(directory, common),
        await git('config', '--show-scope', '--get-all', 'core.hooksPath'),
      ),
      hasPreCommitConfig: existsSync(join(root, '.pre-commit-config.yaml')),
      isOnGithub: existsSync(join(root, '.github')) || /github/i.test(remotes),
      isOnGitlab: existsSync(join(root, '.gitlab-ci.yml')) || /gitlab/i.test(remotes),
      files: files.filter((name) => existsSync(pathOf(root, name))),
    };
  } catch (error) {
    const message = messageOf(error);
    const isNone = message.includes('is not a git repository');
    throw refused(
      isNone ? `${directory} is not a git repository; run this in one, or make one with git init` : message,
      error,
    );
  }
}

/** A name that is not UTF-8 is looked up by its bytes. */
function pathOf(root: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
}

/** @param configured the values of `core.hooksPath` with their scopes, those of commands included */
function hooksOf(root: string, common: string, configured: string): string | null {
  const own = configured
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('command\t'))
    .at(-1)
    ?.replace(/^[^\t]*\t/, '');
  if (own === undefined) return join(common, 'hooks');
  const path = resolve(root, own.replace(/^~(?=\/)/, process.env['HOME'] ?? '~'));
  const within = relative(root, path);
  if (within.startsWith('..') || isAbsolute(within)) return null;
  // Husky generates the files of this directory; those beside it are the hooks.
  return basename(path) === '_' ? dirname(path) : path;
}
