/** The parts of a package's manifest that differ between the repository and the registry. */
export interface SourceManifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly scripts?: unknown;
  readonly devDependencies?: unknown;
}

type Entry = string | { readonly types: string; readonly default: string };

/** Returns the manifest for the registry: compiled files instead of sources, without what only development needs. */
export function publishedManifest(source: SourceManifest): Record<string, unknown> {
  const { scripts: _scripts, devDependencies: _development, exports, bin, ...rest } = source;
  const entries = Object.entries(exports).filter(([name]) => name !== './internal/*');
  const commands = Object.entries(bin ?? {}).map(([name, file]) => [name, compiled(file, 'js')]);
  return {
    ...rest,
    ...(commands.length > 0 && { bin: Object.fromEntries(commands) }),
    exports: Object.fromEntries(entries.map(([name, file]) => [name, entryOf(file)])),
  };
}

function entryOf(file: string): Entry {
  return file.endsWith('.ts') ? { types: compiled(file, 'd.ts'), default: compiled(file, 'js') } : file;
}

/** Returns the path of a compiled source file, such as `./dist/clock.js` of `./src/clock.ts`. */
function compiled(file: string, extension: 'js' | 'd.ts'): string {
  return file.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, `.${extension}`);
}
