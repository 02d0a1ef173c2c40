const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};

/**
 * Reads a path of a diff: git quotes unusual ones as C does, with the bytes of other characters in octal, and `diff`
 * appends a tab and a time.
 */
export function unquoted(text: string): string {
  const [, quoted] = /^"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  if (quoted === undefined) return text.replace(/[\t\r].*$/s, '');
  const bytes: Buffer[] = [];
  for (const [, escaped, plain] of quoted.matchAll(/\\([0-7]{3}|.)|([^\\]+)/g)) {
    if (plain !== undefined) bytes.push(Buffer.from(plain));
    else if (/^[0-7]{3}$/.test(escaped!)) bytes.push(Buffer.from([Number.parseInt(escaped!, 8) & 0xff]));
    else bytes.push(Buffer.from(ESCAPES[escaped!] ?? escaped!));
  }
  return Buffer.concat(bytes).toString('utf8');
}
