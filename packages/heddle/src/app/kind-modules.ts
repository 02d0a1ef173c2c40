import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import type { KindDefinition } from '@heddle/kit';
import { isKindDefinition } from '@heddle/kit/define-kind';
import { CommandFailure, ConfigurationError } from '@heddle/base/terminal/failure';

let hooked = false;

/** Lets modules import the packages of Heddle, the very ones that run here, wherever the modules are. */
function resolveOwnPackages(): void {
  if (hooked) return;
  hooked = true;
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, specifier.startsWith('@heddle/') ? { ...context, parentURL: import.meta.url } : context),
  });
}

/**
 * Loads modules (JavaScript, or TypeScript whose types can be stripped) and returns the kinds that they export, by
 * name: the default export or a named one, single or in arrays.
 * @param paths from `directory`
 * @throws CommandFailure that names the module and what is wrong with it
 */
export async function loadKinds(paths: readonly string[], directory: string): Promise<KindDefinition[]> {
  resolveOwnPackages();
  const byName = new Map<string, { kind: KindDefinition; path: string }>();
  for (const path of paths) {
    const kinds = kindsOf(await load(path, resolve(directory, path)));
    if (kinds.size === 0) {
      throw new CommandFailure(
        `The module ${path} exports no kind; export the value returned by defineKind, or an array of such values`,
      );
    }
    for (const kind of kinds) {
      const known = byName.get(kind.name);
      if (known !== undefined && known.kind !== kind) {
        const where = known.path === path ? `both in ${path}` : `in ${known.path} and in ${path}`;
        throw new CommandFailure(`The kind ${kind.name} is defined twice: ${where}; give one of them another name`);
      }
      byName.set(kind.name, { kind, path });
    }
  }
  return [...byName.values()].map(({ kind }) => kind).sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Selects kinds by name. @throws ConfigurationError that lists the names that no module defines */
export function selectKinds(kinds: readonly KindDefinition[], names: readonly string[]): readonly KindDefinition[] {
  if (names.length === 0) return kinds;
  const known = kinds.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new ConfigurationError(
      unknown.map((name) => `--kind ${name}: not defined by any module; defined: ${known.join(', ')}`),
    );
  }
  return kinds.filter(({ name }) => names.includes(name));
}

async function load(path: string, file: string): Promise<Record<string, unknown>> {
  if (!existsSync(file)) throw new CommandFailure(`Module not found: ${file}`);
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    throw new CommandFailure(`The module ${path} cannot be loaded: ${reasonOf(error)}`, { cause: error });
  }
}

/** Includes the location: the head of the stack for a syntax error, else its first line outside this package. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = [new URL('../', import.meta.url).href, import.meta.resolve('@heddle/kit')].map((url) =>
    fileURLToPath(new URL('./', url)),
  );
  const places = [...(error.stack ?? '').matchAll(/(?:^|file:\/\/)(\/[^\s():]+:\d+)/gm)].map((match) => match[1]!);
  const place = places.find((each) => !own.some((folder) => each.startsWith(folder)));
  return `${error.name}: ${error.message}${place === undefined ? '' : ` (${place})`}`;
}

function kindsOf(module: Record<string, unknown>): Set<KindDefinition> {
  return new Set(Object.values(module).flat().filter(isKindDefinition));
}
