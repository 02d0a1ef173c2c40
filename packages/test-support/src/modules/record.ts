/** Writes the catalog of modules for a test run: `node record.ts DIRECTORY`. It loads what most processes of the tests load. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { findPackageJSON, registerHooks, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { rolldown } from 'rolldown';

import { type Catalog, CATALOG_FILE, CONTENTS_FILE } from './catalog.ts';

const ROOTS = [
  'heddle/internal/cli/program',
  ...[
    'doctor',
    'executor',
    'migration',
    'recovery',
    'remote-worker',
    'secret-keys',
    'server',
    'tokens',
    'up',
    'worker',
  ].map((name) => `heddle/internal/app/${name}`),
  ...['audit', 'certs', 'event-client', 'keys'].map((name) => `heddle/internal/app/remote/${name}`),
  'heddle/internal/app/pool/runner-process',
  ...['grpc', 'tcp', 'xmlrpc'].map((protocol) => `@heddle/executor/internal/${protocol}/client`),
  '@heddle/recon/internal/command/program',
  '@heddle/recon/internal/command/run-recon',
  '@heddle/recon/internal/tcp/scan',
  ...['program', 'run-scan', 'rules', 'rule-listing', 'explain/explain-place', 'explain/explanation-text'].map(
    (name) => `@heddle/scan/internal/command/${name}`,
  ),
  '@heddle/scan/internal/archive/open-archive',
  '@heddle/scan/internal/detect/compile-rules',
  '@heddle/scan/internal/coordinator/local-worker',
  '@heddle/scan/internal/worker/serve',
  ...[
    'app/heddle-process',
    'cli/heddle',
    'engine/fixture',
    'http/server',
    'model',
    'reliability/crashing-database',
    'reliability/processes',
  ].map((name) => `@heddle/test-support/${name}`),
];

/** Packages of many modules; each becomes a few. */
const MERGED = ['typebox'];

interface LoadedModule {
  readonly format: string;
  readonly content: Uint8Array;
  /** URLs by specifier. */
  readonly imports: Map<string, string>;
}

const modules = new Map<string, LoadedModule>();
const merged = new Map<string, string>();

for (const name of MERGED) await mergePackage(name);

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!context.conditions.includes('import')) return nextResolve(specifier, context);
    const imports = modules.get(context.parentURL ?? '')?.imports;
    const whole = merged.get(specifier) ?? imports?.get(specifier);
    const resolved = whole === undefined ? nextResolve(specifier, context) : { url: whole, shortCircuit: true };
    imports?.set(specifier, resolved.url);
    return resolved;
  },
  load(url, context, nextLoad) {
    const known = modules.get(url);
    if (known !== undefined) return { format: known.format, source: known.content, shortCircuit: true };
    const loaded = nextLoad(url, context);
    const { format, source } = loaded;
    if (format === 'commonjs') modules.set(url, { format, content: Buffer.alloc(0), imports: new Map() });
    else if (format === 'module') add(url, Buffer.from(source as Uint8Array));
    else if (format === 'module-typescript') add(url, withoutTypes(url, source as Uint8Array));
    return loaded;
  },
});

for (const root of ROOTS) await import(root);

function add(url: string, content: Uint8Array): void {
  modules.set(url, { format: 'module', content, imports: new Map() });
}

/**
 * Makes of a module what Node makes of it, to the letter, so that compiled code is valid with and without the catalog.
 * Types become spaces; lines and columns stay.
 */
function withoutTypes(url: string, source: Uint8Array): Uint8Array {
  return Buffer.from(stripTypeScriptTypes(Buffer.from(source).toString(), { sourceUrl: url }));
}

/** Puts all that a package exports into a few modules, whose URLs lie in the package. */
async function mergePackage(name: string): Promise<void> {
  const manifest = findPackageJSON(name, import.meta.url)!;
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports: Record<string, unknown> };
  const specifiers = Object.keys(exports).map((path) => join(name, path));
  const bundle = await rolldown({
    cwd: import.meta.dirname,
    input: Object.fromEntries(specifiers.map((specifier, at) => [`entry-${at}`, specifier])),
    platform: 'node',
  });
  const { output } = await bundle.generate({ format: 'esm', chunkFileNames: 'part-[hash].js' });
  const urlOf = (file: string): string => pathToFileURL(join(dirname(manifest), 'merged', file)).href;
  for (const chunk of output) {
    if (chunk.type !== 'chunk') continue;
    const imports = new Map(chunk.imports.map((file) => [`./${file}`, urlOf(file)]));
    modules.set(urlOf(chunk.fileName), { format: 'module', content: Buffer.from(chunk.code), imports });
  }
  for (const [at, specifier] of specifiers.entries()) merged.set(specifier, urlOf(`entry-${at}.js`));
}

function catalogOf(list: readonly [string, LoadedModule][]): Catalog {
  const numbers = new Map(list.map(([url], number) => [url, number]));
  let end = 0;
  return {
    urls: list.map(([url]) => url),
    formats: list.map(([, { format }]) => format),
    imports: list.map(([, { imports }]) =>
      [...imports].flatMap(([specifier, url]) => (numbers.has(url) ? [specifier, numbers.get(url)!] : [])),
    ),
    ends: list.map(([, { content }]) => (end += content.length)),
    packages: Object.fromEntries([...merged].map(([specifier, url]) => [specifier, numbers.get(url)!])),
  };
}

const directory = process.argv[2]!;
mkdirSync(directory, { recursive: true, mode: 0o755 });
const list = [...modules].filter(([url]) => url.startsWith('file:'));
writeFileSync(join(directory, CONTENTS_FILE), Buffer.concat(list.map(([, { content }]) => content)));
// Complete when it appears: processes that start meanwhile do without.
const draft = join(directory, 'draft');
writeFileSync(draft, JSON.stringify(catalogOf(list)));
renameSync(draft, join(directory, CATALOG_FILE));
process.exit(0);
