import { runGit, startGit } from './command.ts';

/** Objects that no branch, tag or stash leads to. */
export interface Unreachable {
  /** Ids of abandoned commits and tags; what is only in reflogs counts as abandoned. */
  revisions: readonly string[];
  /** Ids of blobs of no commit, such as those that were staged and never committed. */
  blobs: readonly string[];
}

const BLOB_IN_TREE = /^\d{6} blob ([0-9a-f]+)\t/;

/** Finds them with `git fsck`, which visits every object once. What it finds broken does not matter here. */
export async function findUnreachable(repository: string): Promise<Unreachable> {
  const child = startGit(repository, ['fsck', '--no-reflogs', '--connectivity-only', '--no-progress']);
  child.process.stdin.end();
  const said: Buffer[] = [];
  child.process.stdout.on('data', (piece: Buffer) => said.push(piece));
  const failure = await child.ended;
  const ids = idsByType(Buffer.concat(said).toString('latin1'));
  if (ids.size === 0 && failure !== null) throw new Error(failure);
  const blobs = new Set(ids.get('blob') ?? []);
  for (const tree of ids.get('tree') ?? []) {
    const entries = (await runGit(repository, ['ls-tree', '-r', '-z', '--full-tree', tree])).toString('latin1');
    for (const entry of entries.split('\0')) {
      const id = BLOB_IN_TREE.exec(entry)?.[1];
      if (id !== undefined) blobs.add(id);
    }
  }
  const revisions = [...(ids.get('commit') ?? []), ...(ids.get('tag') ?? [])];
  return { revisions: revisions.sort(), blobs: [...blobs].sort() };
}

/** Reads lines such as `dangling commit ID`. */
function idsByType(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, type, id] = /^dangling (\w+) ([0-9a-f]+)$/.exec(line) ?? [];
    if (type === undefined || id === undefined) continue;
    const ids = found.get(type);
    if (ids === undefined) found.set(type, [id]);
    else ids.push(id);
  }
  return found;
}
