import { checkCodePath } from '../code-path.ts';
import type { CodeWriter } from '../code-writer.ts';
import { gunzip } from './gunzip.ts';
import { readTar } from './tar.ts';

/**
 * Unpacks an npm package: a gzipped tar archive whose single top folder is stripped.
 *
 * @throws CodeFault
 */
export async function unpackPackage(packed: Uint8Array, into: CodeWriter): Promise<void> {
  const chunks = gunzip(packed, into.limits);
  const expect = (path: string, bytes: number): void => into.expect(path, bytes);
  for await (const { path, content } of readTar(chunks, into.limits, expect)) {
    checkCodePath(path);
    await into.add(withoutFirstFolder(path), content);
  }
}

function withoutFirstFolder(path: string): string {
  const slash = path.indexOf('/');
  return slash < 0 ? path : path.slice(slash + 1);
}
