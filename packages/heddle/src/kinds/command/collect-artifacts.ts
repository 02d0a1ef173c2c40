import { Readable } from 'node:stream';

import { messageOf } from '@heddle/base/thrown';
import { artifactNameFault } from '@heddle/base/vocabulary/artifact';
import { filesLeftIn, type LeftFile } from '@heddle/executor/execution/commands';
import type { KindContext } from '@heddle/kit';
import { pathFilter } from '@heddle/scan/path-filter';

/** Stores the files of a working directory that match, and says which were left out. @throws Error if one cannot be stored */
export async function collectArtifacts(
  directory: string,
  globs: readonly string[],
  { artifacts, log, signal }: Pick<KindContext, 'artifacts' | 'log' | 'signal'>,
): Promise<void> {
  const matches = pathFilter({ include: globs.map((glob) => `/${glob.replace(/^(\.?\/)+/, '')}`), exclude: [] });
  let stored = 0;
  for await (const file of filesLeftIn(directory)) {
    if (signal.aborted) return;
    if (!matches(file.path)) continue;
    const fault = file.irregular === null ? artifactNameFault(file.path) : `is ${file.irregular}`;
    if (fault === null) {
      await store(file, artifacts);
      stored += 1;
    } else log.warn({}, `artifact left out: ${JSON.stringify(file.path)} ${fault}`);
  }
  if (stored === 0) log.warn({}, `no file matches the artifacts ${globs.join(', ')}`);
}

async function store(file: LeftFile, artifacts: KindContext['artifacts']): Promise<void> {
  const handle = await file.open();
  try {
    // No more than it had when it was found, even if a process that escaped still writes to it.
    const content = file.size === 0 ? [] : handle.createReadStream({ autoClose: false, end: file.size - 1 });
    await artifacts.put(file.path, Readable.from(content));
  } catch (error) {
    throw new Error(`the artifact ${file.path} could not be stored: ${messageOf(error)}`, { cause: error });
  } finally {
    await handle.close();
  }
}
