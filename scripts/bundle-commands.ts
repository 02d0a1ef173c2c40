/**
 * `node scripts/bundle-commands.ts BUILD`: replaces what the commands `scan` and `recon` load first, in the packages built
 * in a directory, by files that contain what they import of Heddle and of commander: to find and load two hundred
 * modules takes longer than to scan a small tree. What is loaded on demand stays apart.
 */
import { cpSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, type CodeSplittingNameFunction, type Plugin } from 'rolldown';

const PACKAGES = join(import.meta.dirname, '../packages');
const COMMANDS = [
  { name: 'scan', entries: ['command/start', 'worker/worker'], first: ['command/program', 'command/run-scan', 'scan'] },
  { name: 'recon', entries: ['command/start'], first: ['command/program', 'command/run-recon', 'tcp/scan'] },
] as const;
/** Every file of a bundle is as deep in `dist` as this directory. */
const CHUNKS = 'bundle';
/** These run before the check for a Node that is too old, and may not need a newer one. */
const BEFORE_CHECK = /(?:\/package-manifest\.ts|\/command\/package\.ts|rolldown\/runtime\.js)$/;
/** Modules of Node that take milliseconds to load and that most runs do not need. */
const RARE = ['crypto', 'zlib', 'child_process', 'net', 'dns', 'tls', 'stream/promises'].map((name) => `node:${name}`);

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('name the directory of the built packages');

/** Lets a module find the files beside it, and the packages that it depends on, from the bundle. */
function origins(name: string): Plugin {
  const own = join(PACKAGES, name, 'src');
  const base = join(PACKAGES, 'base', 'src');
  return {
    name: 'origins',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return null;
      const inBase = relative(base, id);
      const origin = inBase.startsWith('..')
        ? `new URL(${JSON.stringify(`../${relative(own, id).replace(/\.ts$/, '.js')}`)}, import.meta.url).href`
        : `import.meta.resolve(${JSON.stringify(`@heddle/base/${inBase.replace(/\.ts$/, '')}`)})`;
      return { code: code.replaceAll('import.meta.url', origin) };
    },
  };
}

/**
 * Takes the modules of Node directly, without the namespace that an import creates: that reads every property, and so
 * loads what is behind them, such as the promises of `node:fs`. Functions of rare modules load theirs when called.
 */
const builtins: Plugin = {
  name: 'builtins',
  transform(code, id) {
    if (BEFORE_CHECK.test(id)) return null;
    const direct = code.replaceAll(/^import (\w+|\{[^}]*\}) from ['"](node:[a-z0-9_/]+)['"];$/gm, directImport);
    return direct === code ? null : { code: direct };
  },
};

function directImport(statement: string, imported: string, module: string): string {
  const from = `process.getBuiltinModule('${module}')`;
  const isRare = RARE.includes(module);
  if (module === 'node:process') return '';
  if (!imported.startsWith('{'))
    return `const ${imported} = ${isRare ? `new Proxy({}, { get: (_, name) => ${from}[name] })` : from};`;
  const names = imported
    .slice(1, -1)
    .split(',')
    .map((each) => each.trim().split(/\s+as\s+/))
    .filter(([name]) => name !== '' && !name!.startsWith('type '));
  if (!isRare) return `const { ${names.map((each) => each.join(': ')).join(', ')} } = ${from};`;
  if (names.some(([name]) => !/^[a-z]\w*$/.test(name!) || name === 'constants')) return statement;
  return names.map(([name, as = name]) => `const ${as} = (...args) => ${from}.${name}(...args);`).join('\n');
}

/** Puts what every run of a command loads into one file, and what a worker loads besides into another. */
function chunks(name: string, roots: readonly string[]): CodeSplittingNameFunction {
  const closures = new Map<string, Set<string>>();
  return (id, context) => {
    const closureOf = (path: string): Set<string> => {
      const known = closures.get(path);
      if (known !== undefined) return known;
      const found = new Set([join(PACKAGES, name, 'src', `${path}.ts`)]);
      // A set also visits what is added meanwhile.
      for (const each of found)
        for (const imported of context.getModuleInfo(each)?.importedIds ?? []) found.add(imported);
      closures.set(path, found);
      return found;
    };
    if (closureOf('command/start').has(id)) return 'first';
    if (name === 'scan' && closureOf('coordinator/local-worker').has(id)) return 'worker';
    return roots.some((root) => closureOf(root).has(id)) ? 'command' : null;
  };
}

for (const { name, entries, first } of COMMANDS) {
  await build({
    input: Object.fromEntries(entries.map((entry) => [entry, join(PACKAGES, name, 'src', `${entry}.ts`)])),
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    // Of other packages, only what every command needs becomes part of it.
    external: (id) => !/^(?:[./]|@heddle\/|commander(?:$|\/))/.test(id),
    plugins: [origins(name), builtins],
    output: {
      dir: join(directory, name, 'dist'),
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: `${CHUNKS}/[name].js`,
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ name: chunks(name, first), debugName: name }],
      },
    },
    // Some modules are loaded on demand by one command only.
    checks: { ineffectiveDynamicImport: false },
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  const commander = fileURLToPath(new URL('LICENSE', import.meta.resolve('commander')));
  cpSync(commander, join(directory, name, 'dist', CHUNKS, 'commander.LICENSE'));
}
