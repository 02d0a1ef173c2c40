/** The path of a commit as an object: its message, with what git notes of it. */
export function commitPath(id: string): string {
  return `commit:${id}`;
}
