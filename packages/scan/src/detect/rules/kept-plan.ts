import { createHash } from 'node:crypto';
import { openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bytesOfRules, type CompiledRules } from '../packed-rules.ts';
import { readPlan } from './builtin-plan.ts';

/** Plans of other versions and checkouts that stay. */
const KEPT_MAX = 4;

/**
 * Returns the built-in rules as an earlier start compiled them, which takes a tenth of the time. They are kept beside
 * Node's compiled code, whose directory belongs to the user. A file that cannot be read or written only costs that time.
 *
 * @param directory undefined: Node keeps no compiled code, and no plan is kept
 */
export function keptPlan(compile: () => CompiledRules, directory = getCompileCacheDir()): CompiledRules {
  if (directory === undefined) return compile();
  const name = planName();
  const kept = read(join(directory, name));
  if (kept !== null) return kept;
  const compiled = compile();
  try {
    const whole = join(directory, `.${process.pid}-${name}`);
    writeFileSync(whole, bytesOfRules(compiled), { mode: 0o600 });
    renameSync(whole, join(directory, name));
    removeOldest(directory);
  } catch {
    // The next start compiles them again.
  }
  return compiled;
}

/** Returns the built-in rules if an earlier start kept them. */
export function readKeptPlan(): CompiledRules | null {
  const directory = getCompileCacheDir();
  return directory === undefined ? null : read(join(directory, planName()));
}

function planName(): string {
  return `rules-${digestOfSources()}.plan`;
}

function read(file: string): CompiledRules | null {
  try {
    return readPlan(openSync(file, 'r'));
  } catch {
    return null;
  }
}

/** Of whatever decides how the rules of a checkout are compiled: these folders, and the version of Node. */
function digestOfSources(): string {
  const folders = [new URL('../', import.meta.url), new URL('./', import.meta.resolve('@heddle/base/regex/parse'))];
  const hash = createHash('sha256').update(process.version);
  for (const folder of folders) {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(ts|toml)$/.test(name),
    );
    for (const name of names.sort()) hash.update(name).update(readFileSync(join(fileURLToPath(folder), name)));
  }
  return hash.digest('hex').slice(0, 32);
}

function removeOldest(directory: string): void {
  const plans = readdirSync(directory)
    // A process that was killed leaves a part of a file.
    .filter((name) => /^(?:\.\d+-)?rules-[0-9a-f]+\.plan$/.test(name))
    .map((name) => ({ path: join(directory, name), at: statSync(join(directory, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of plans.slice(KEPT_MAX)) rmSync(path, { force: true });
}
