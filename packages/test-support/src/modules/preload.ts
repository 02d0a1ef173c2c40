/**
 * Preloaded into processes of a test run, with the catalog's directory behind the `?`: finds and reads the modules that the
 * catalog lists. Node takes half of a process's start to find them.
 */
import { existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';

import { type Catalog, CATALOG_FILE, CONTENTS_FILE } from './catalog.ts';

const directory = decodeURIComponent(new URL(import.meta.url).search.slice(1));

/** Null in a process that outlives the run, and in one that cannot see the directory. */
function readCatalog(): Catalog | null {
  const path = join(directory, CATALOG_FILE);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Catalog) : null;
}

function useCatalog({ urls, formats, imports, ends, packages }: Catalog): void {
  const contents = openSync(join(directory, CONTENTS_FILE), 'r');
  const numbers = new Map(urls.map((url, number) => [url, number]));
  registerHooks({
    resolve(specifier, context, nextResolve) {
      // What `require` finds may be another file.
      if (!context.conditions.includes('import')) return nextResolve(specifier, context);
      const parent = context.parentURL === undefined ? undefined : numbers.get(context.parentURL);
      const list = parent === undefined ? undefined : imports[parent];
      const at = list === undefined ? -1 : list.indexOf(specifier);
      const number = at === -1 ? packages[specifier] : (list![at + 1] as number);
      if (number === undefined) return nextResolve(specifier, context);
      return { url: urls[number]!, format: formats[number]!, shortCircuit: true };
    },
    load(url, context, nextLoad) {
      const number = numbers.get(url);
      const format = number === undefined ? undefined : formats[number];
      if (format !== 'module') return nextLoad(url, context);
      const start = ends[number! - 1] ?? 0;
      const source = Buffer.allocUnsafe(ends[number!]! - start);
      readSync(contents, source, 0, source.length, start);
      return { format, source, shortCircuit: true };
    },
  });
}

const catalog = readCatalog();
if (catalog !== null) useCatalog(catalog);
