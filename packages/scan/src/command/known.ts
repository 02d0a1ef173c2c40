import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Baseline } from '../baseline/baseline.ts';
import { IgnoreList } from '../baseline/ignore-list.ts';
import { readBaseline } from '../baseline/read-baseline.ts';
import { UnusableFile } from '../baseline/unusable-file.ts';
import { refused, systemFault } from '@heddle/base/terminal/refusal';
import type { ScanRequest } from './options.ts';

/** Names of fingerprint lists that are searched for in the scanned directories. */
const IGNORE_FILES = ['.heddleignore', '.gitleaksignore'] as const;

/** @throws CommandFailure */
export function baselineOf(request: ScanRequest, directories: readonly string[]): Baseline | null {
  const { baseline: path } = request;
  if (path === null) return null;
  const text = readNamed('--baseline', path);
  try {
    return new Baseline(readBaseline(path, text), directories);
  } catch (error) {
    if (error instanceof UnusableFile) throw refused(`--baseline: ${error.message}`, error);
    throw error;
  }
}

/** @param notice receives which files apply and which of their lines are ignored */
export function ignoreListOf(
  request: ScanRequest,
  directories: readonly string[],
  notice: (text: string) => void,
): IgnoreList {
  const list = new IgnoreList(directories);
  for (const path of request.ignoreFiles) {
    for (const fault of list.addText(path, readNamed('--ignore-file', path))) notice(`warning: ${fault}`);
  }
  if (!request.rules.discover) return list;
  for (const directory of directories) {
    for (const path of IGNORE_FILES.map((name) => join(directory, name)).filter((each) => existsSync(each))) {
      notice(`findings listed in ${path} are suppressed (--no-config ignores the list)`);
      for (const fault of list.addText(path, readNamed(path, path))) notice(`warning: ${fault}`);
    }
  }
  return list;
}

/** Returns the content of a file named by a flag. */
export function readNamed(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw refused(`${flag === path ? path : `${flag} ${path}`}: ${systemFault(error)}`, error);
  }
}
