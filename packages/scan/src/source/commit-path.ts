/** Returns the path of a commit as an object: its message with git's metadata. */
export function commitPath(id: string): string {
  return `commit:${id}`;
}
