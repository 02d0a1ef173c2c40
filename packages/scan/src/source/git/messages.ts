import type { DiscoveredObject } from '../port.ts';
import { startGit } from './command.ts';

/** Returns the annotated tags among the revisions as objects: their messages with git's metadata. */
export async function tagObjects(repository: string, revisions: readonly string[]): Promise<DiscoveredObject[]> {
  const child = startGit(repository, ['cat-file', '--batch-check=%(objectname) %(objecttype)']);
  const said: Buffer[] = [];
  child.process.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  child.process.stdin.end(
    revisions
      .filter((id) => !id.startsWith('^'))
      .map((id) => `${id}\n`)
      .join(''),
  );
  const failure = await child.ended;
  if (failure !== null) throw new Error(failure);
  const lines = Buffer.concat(said).toString('latin1').split('\n');
  const ids = lines.filter((line) => line.endsWith(' tag')).map((line) => line.slice(0, line.indexOf(' ')));
  return [...new Set(ids)].map((id) => ({ path: `tag:${id}`, locator: id, size_hint: -1 }));
}
