/**
 * Returns the forms in which other tools may write a finding's path: as it is, and relative to each scanned directory.
 */
export function pathForms(path: string, roots: readonly string[]): string[] {
  const plain = withoutDot(path);
  const forms = new Set([path, plain]);
  for (const root of roots) {
    const prefix = `${withoutDot(root).replace(/\/+$/, '')}/`;
    if (plain.startsWith(prefix)) forms.add(plain.slice(prefix.length));
  }
  return [...forms];
}

function withoutDot(path: string): string {
  return path.replace(/^(\.\/+)+/, '');
}
