/** Writes the catalog of modules for a test run: `node record.ts DIRECTORY`. It loads what most processes of the tests load. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';

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

interface LoadedModule {
  readonly format: string;
  readonly content: Uint8Array;
  /** URLs by specifier. */
  readonly imports: Map<string, string>;
}

const modules = new Map<string, LoadedModule>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    if (context.parentURL !== undefined && context.conditions.includes('import'))
      modules.get(context.parentURL)?.imports.set(specifier, resolved.url);
    return resolved;
  },
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const { format, source } = loaded;
    if (format === 'commonjs') modules.set(url, { format, content: Buffer.alloc(0), imports: new Map() });
    else if (format === 'module' || format === 'module-typescript')
      modules.set(url, { format, content: Buffer.from(source as Uint8Array), imports: new Map() });
    return loaded;
  },
});

for (const root of ROOTS) await import(root);

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
