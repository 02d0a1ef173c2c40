/** The modules of a test run: where each of their imports leads, and what they contain. */
export interface Catalog {
  /** Their URLs; the place in this list is the number of a module. */
  readonly urls: readonly string[];
  readonly formats: readonly string[];
  /** For each module its imports: specifier, number, specifier, number... */
  readonly imports: readonly (readonly (string | number)[])[];
  /** Where the content of each module ends in the file of contents. It begins where that of the one before ends. */
  readonly ends: readonly number[];
  /** The numbers of modules that stand for a whole package, by the specifiers that name them anywhere. */
  readonly packages: Readonly<Record<string, number>>;
}

export const CATALOG_FILE = 'catalog.json';
export const CONTENTS_FILE = 'contents';

/**
 * Options with which a process of Node uses the catalog that this one uses; none without a catalog. For processes whose
 * memory is not measured, since they hold the catalog.
 */
export const CATALOG_OPTIONS: readonly string[] = process.execArgv.flatMap((value, at, all) =>
  all[at - 1] === '--import' && value.includes('/modules/preload.ts?') ? ['--import', value] : [],
);
