import type { Token } from './tokens.ts';

/** Built-in modules that give access to other processes, the network or the module loader. */
export const LISTED_BUILTINS: ReadonlySet<string> = new Set([
  ...['child_process', 'cluster', 'worker_threads', 'vm', 'v8', 'inspector', 'repl', 'module', 'wasi', 'process'],
  ...['net', 'tls', 'dgram', 'http', 'https', 'http2', 'dns'],
]);

const PROCESS_ESCAPES = new Set(['binding', '_linkedBinding', 'dlopen', 'getBuiltinModule']);

/** Returns the rule violated by the token at `at`; null for most tokens. */
export function violatedRule(tokens: readonly Token[], at: number): string | null {
  const token = tokens[at]!;
  const before = tokens[at - 1];
  if (token.kind === 'text') return violatedImport(token.value, before, tokens[at - 2]);
  if (token.kind !== 'name') return null;
  if (token.value.includes('\\')) return 'escaped-name';
  const isMember = before?.value === '.' && tokens[at - 2]?.value !== 'globalThis';
  const after = tokens[at + 1];
  if (token.value === 'eval') return isMember || after?.value === ':' ? null : 'eval';
  if (token.value === 'Function') return !isMember && after?.value === '(' ? 'function-constructor' : null;
  if (token.value === 'import' || token.value === 'require') {
    const isCall = !isMember && before?.value !== 'function' && after?.value === '(';
    const isFixed = tokens[at + 2]?.kind === 'text' && tokens[at + 2]!.value !== '';
    return isCall && !isFixed ? `dynamic-${token.value}` : null;
  }
  if (token.value === 'process' && after?.value === '.' && PROCESS_ESCAPES.has(tokens[at + 2]?.value ?? '')) {
    return `process.${tokens[at + 2]!.value}`;
  }
  return null;
}

function violatedImport(specifier: string, before: Token | undefined, earlier: Token | undefined): string | null {
  const isImport =
    before?.value === 'from' ||
    before?.value === 'import' ||
    (before?.value === '(' && ['import', 'require', 'getBuiltinModule'].includes(earlier?.value ?? ''));
  if (!isImport) return null;
  const name = specifier.replace(/^node:/, '').split('/')[0]!;
  return LISTED_BUILTINS.has(name) ? `builtin:${name}` : null;
}
