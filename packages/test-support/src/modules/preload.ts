/**
 * Preloaded into processes of a test run, with the catalog's directory behind the `?`: finds and reads the modules that the
 * catalog lists. Node takes half of a process's start to find them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';

import { type Catalog, CATALOG_FILE, CONTENTS_FILE } from './catalog.ts';

const directory = decodeURIComponent(new URL(import.meta.url).search.slice(1));

/** Null in a process that outlives the run, and in one that cannot see the directory. */
function readCatalog(): Catalog | null {
  const path = join(directory, CATALOG_FILE);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Catalog) : null;
}

function useCatalog({ urls, formats, imports, ends }: Catalog): void {
  const contents = readFileSync(join(directory, CONTENTS_FILE));
  const numbers = new Map(urls.map((url, number) => [url, number]));
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const parent = context.parentURL === undefined ? undefined : numbers.get(context.parentURL);
      const list = parent === undefined ? undefined : imports[parent];
      const at = list === undefined ? -1 : list.indexOf(specifier);
      // What `require` finds may be another file.
      if (at === -1 || !context.conditions.includes('import')) return nextResolve(specifier, context);
      const number = list![at + 1] as number;
      return { url: urls[number]!, format: formats[number]!, shortCircuit: true };
    },
    load(url, context, nextLoad) {
      const number = numbers.get(url);
      const format = number === undefined ? undefined : formats[number];
      if (format !== 'module' && format !== 'module-typescript') return nextLoad(url, context);
      return { format, source: contents.subarray(ends[number! - 1] ?? 0, ends[number!]), shortCircuit: true };
    },
  });
}

const catalog = readCatalog();
if (catalog !== null) useCatalog(catalog);
