export interface PathPatterns {
  /** If not empty, only matching paths pass. */
  include: readonly string[];
  /** Matching paths do not pass. */
  exclude: readonly string[];
}

/**
 * Returns a test of paths (with slashes) against globs: `*` and `?` within a name, `**` across names, `[a-z]`,
 * `{a,b}`. A pattern matches at any depth unless it begins with a slash, and also matches everything below a matching
 * directory.
 */
export function pathFilter({ include, exclude }: PathPatterns): (path: string) => boolean {
  const included = union(include);
  const excluded = union(exclude);
  if (included === null) return excluded === null ? () => true : (path) => !excluded.test(path);
  if (excluded === null) return (path) => included.test(path);
  return (path) => included.test(path) && !excluded.test(path);
}

function union(globs: readonly string[]): RegExp | null {
  if (globs.length === 0) return null;
  return new RegExp(globs.map((glob) => patternOf(glob)).join('|'), 's');
}

/** Returns the glob as the source of a regular expression. */
function patternOf(glob: string): string {
  const isAnchored = glob.startsWith('/');
  const body = glob.replace(/^\.?\/+/, '').replace(/\/+$/, '');
  return `${isAnchored ? '^/?' : '(?:^|[/!])'}${translate(body)}(?=$|[/!])`;
}

function translate(glob: string): string {
  let out = '';
  let braces = 0;
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i]!;
    if (char === '*' && glob[i + 1] === '*') {
      const isWholeName = (i === 0 || glob[i - 1] === '/') && glob[i + 2] === '/';
      out += isWholeName ? '(?:.*/)?' : '.*';
      i += isWholeName ? 2 : 1;
    } else if (char === '*') out += '[^/]*';
    else if (char === '?') out += '[^/]';
    else if (char === '[') {
      const end = glob.indexOf(']', i + 2);
      if (end < 0) out += '\\[';
      else {
        out += setOf(glob.slice(i + 1, end));
        i = end;
      }
    } else if (char === '{' && glob.includes('}', i)) {
      braces += 1;
      out += '(?:';
    } else if (char === '}' && braces > 0) {
      braces -= 1;
      out += ')';
    } else if (char === ',' && braces > 0) out += '|';
    else if (char === '\\' && i + 1 < glob.length) out += literal(glob[++i]!);
    else out += literal(char);
  }
  return out + ')'.repeat(braces);
}

function setOf(members: string): string {
  const isNegated = members.startsWith('!') || members.startsWith('^');
  const body = (isNegated ? members.slice(1) : members).replace(/[\\\]^[]/g, '\\$&');
  return `(?!/)[${isNegated ? '^' : ''}${body}]`;
}

function literal(char: string): string {
  return char.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
