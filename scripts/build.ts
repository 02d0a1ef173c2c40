/**
 * `npm run build`: what the published package holds. Compiles `src/` to `dist/`, copies the files beside the code that
 * reads them (SQL, rules, WebAssembly, protocol definitions), compiles the built-in rules, strips the types off the examples, builds the page,
 * and checks that the command can be started.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

import { compileFrom } from '@heddle/scan/internal/detect/compile-rules';
import { planBytes } from '@heddle/scan/internal/detect/rules/builtin-plan';
import { loadRules } from '@heddle/scan/detect/rules/load-rules';

const ROOT = join(import.meta.dirname, '..');
const COMMAND = 'dist/cli/main.js';
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

function compile(): void {
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
  node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
}

/** What code reads from beside itself. Returns how many files were copied. */
function copyData(): number {
  const files = globSync('**/*.{sql,toml,wasm,proto}', { cwd: join(ROOT, 'src') });
  for (const file of files) cpSync(join(ROOT, 'src', file), join(ROOT, 'dist', file));
  return files.length;
}

/** The built-in rules, compiled: half a second less for every scan. */
function compileBuiltinRules(): void {
  writeFileSync(join(ROOT, 'dist/scan/detect/rules/builtin.plan'), planBytes(compileFrom(loadRules({ rules: [] }))));
}

/** Node strips no types under `node_modules`, where the examples are once the package is installed. */
function stripExamples(): void {
  for (const file of globSync('examples/**/*.ts', { cwd: ROOT })) {
    const code = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'));
    writeFileSync(
      join(ROOT, file.replace(/\.ts$/, '.js')),
      code.replaceAll(/((?:from|import) '\.[^']*)\.ts'/g, "$1.js'"),
    );
  }
}

/** npm links the command as it is: it must name its interpreter, and be executable for those who run it in place. */
function checkCommand(): void {
  const path = join(ROOT, COMMAND);
  if (!existsSync(path)) fail(`${COMMAND} is missing: is there a src/cli/main.ts?`);
  if (!readFileSync(path, 'utf8').startsWith(SHEBANG)) fail(`${COMMAND} must begin with ${SHEBANG.trim()}`);
  chmodSync(path, 0o755);
  node(COMMAND, '--version');
}

compile();
const copied = copyData();
compileBuiltinRules();
stripExamples();
node('scripts/build-page.ts');
checkCommand();
console.log(`build: dist/ and web/dist/ are ready (${copied} files beside the code)`);
