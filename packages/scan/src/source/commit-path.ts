/** Returns the path of a commit as an object: its message with git's metadata. */
export function commitPath({ id, repository }: { id: string; repository?: string }): string {
  return `${repository === undefined ? '' : `${repository}/`}commit:${id}`;
}

/** Returns true for the path of a commit as an object. */
export function isCommitPath(path: string): boolean {
  return /(?:^|\/)commit:[0-9a-f]+$/.test(path);
}
