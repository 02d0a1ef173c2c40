/**
 * `npm run build`: the packages as they are published, each in a directory of `build/`. Compiles the sources, copies the
 * files beside the code that reads them (SQL, rules, WebAssembly, protocol definitions), compiles the built-in rules,
 * bundles the commands that must start fast and the scripts of task processes, strips the types off the examples,
 * builds the console, and checks that the commands can be started.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

import { compileFrom } from '@heddle/scan/internal/detect/compile-rules';
import { bytesOfRules } from '@heddle/scan/internal/detect/packed-rules';
import { loadRules } from '@heddle/scan/detect/rules/load-rules';
import { publishedManifest, type SourceManifest } from './published-manifest.ts';

const ROOT = join(import.meta.dirname, '..');
const BUILD = join(ROOT, 'build');
/** What the compiler writes, with the layout of `packages/`. */
const COMPILED = join(BUILD, 'compiled');
const PACKAGES = ['base', 'client', 'kit', 'core', 'scan', 'recon', 'executor', 'heddle'] as const;
const COMMANDS = [
  ['heddle', 'dist/cli/main.js'],
  ['scan', 'dist/command/main.js'],
  ['recon', 'dist/command/main.js'],
] as const;
const SHEBANG = '#!/usr/bin/env node\n';

/** Runs a script with this very Node and ends the build where it fails. */
function node(script: string, ...args: string[]): void {
  const { status, error } = spawnSync(process.execPath, [script, ...args], { cwd: ROOT, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) fail(`${script} ended with ${status}`);
}

function fail(reason: string): never {
  console.error(`build: ${reason}`);
  process.exit(1);
}

/** Returns the directory of a package as it is published. */
function published(name: string, ...inside: string[]): string {
  return join(BUILD, name, ...inside);
}

/** Without a check of types, which takes most of the time and is what `npm run check` does. */
function compile(): void {
  rmSync(BUILD, { recursive: true, force: true });
  node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck');
}

function buildPackage(name: string): void {
  const source = join(ROOT, 'packages', name);
  cpSync(join(COMPILED, name, 'src'), published(name, 'dist'), { recursive: true });
  for (const file of globSync('**/*.{sql,toml,wasm,proto,json}', { cwd: join(source, 'src') }))
    cpSync(join(source, 'src', file), published(name, 'dist', file));
  writeManifest(join(source, 'package.json'), name);
}

function writeManifest(from: string, name: string): void {
  const manifest = publishedManifest(JSON.parse(readFileSync(from, 'utf8')) as SourceManifest);
  writeFileSync(published(name, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join(ROOT, 'LICENSE'), published(name, 'LICENSE'));
  const readme = join(from, '..', 'README.md');
  if (existsSync(readme)) cpSync(readme, published(name, 'README.md'));
}

/** The built-in rules, compiled: half a second less for every scan. */
function compileBuiltinRules(): void {
  const plan = bytesOfRules(compileFrom(loadRules({ rules: [] })));
  writeFileSync(published('scan', 'dist', 'detect', 'rules', 'builtin.plan'), plan);
}

function bundleCommands(): void {
  node('scripts/bundle-commands.ts', BUILD);
}

/** In the repository they are bundled when an executor starts. */
function bundleTaskScripts(): void {
  node('scripts/bundle-task-scripts.ts', published('executor', 'dist', 'execution', 'scripts'));
}

/** Node strips no types under `node_modules`, where the examples are once the package is installed. */
function addExamples(): void {
  for (const file of globSync('examples/**/*', { cwd: ROOT, withFileTypes: false })) {
    if (!/\.[a-z]+$/.test(file) || file.includes('node_modules')) continue;
    const to = published('heddle', file.replace(/\.ts$/, '.js'));
    mkdirSync(join(to, '..'), { recursive: true });
    if (!file.endsWith('.ts')) cpSync(join(ROOT, file), to);
    else {
      const code = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'));
      writeFileSync(to, code.replaceAll(/((?:from|import) '\.[^']*)\.ts'/g, "$1.js'"));
    }
  }
}

function addDocumentation(): void {
  for (const name of ['README.md', 'CHANGELOG.md', 'docs'])
    cpSync(join(ROOT, name), published('heddle', name), { recursive: true });
}

function buildConsole(): void {
  node('scripts/build-page.ts');
  mkdirSync(published('web'), { recursive: true });
  cpSync(join(ROOT, 'web', 'dist'), published('web', 'dist'), { recursive: true });
  writeManifest(join(ROOT, 'web', 'package.json'), 'web');
}

/** npm links a command as it is: it must name its interpreter, and be executable for those who run it in place. */
function checkCommands(): void {
  for (const [name, file] of COMMANDS) {
    const path = published(name, file);
    if (!existsSync(path)) fail(`${path} is missing`);
    if (!readFileSync(path, 'utf8').startsWith(SHEBANG)) fail(`${path} must begin with ${SHEBANG.trim()}`);
    chmodSync(path, 0o755);
  }
}

compile();
for (const name of PACKAGES) buildPackage(name);
compileBuiltinRules();
bundleCommands();
bundleTaskScripts();
addExamples();
addDocumentation();
buildConsole();
checkCommands();
rmSync(COMPILED, { recursive: true });
console.log(`build: ${PACKAGES.length + 1} packages are ready in build/`);
