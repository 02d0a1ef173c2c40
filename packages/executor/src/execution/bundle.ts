import { dirname, join } from 'node:path/posix';

/** JavaScript sources by path, as used in import specifiers. */
export type Sources = ReadonlyMap<string, string>;

/** A script, and the exports of its entry module as `name = expression`. */
export interface Bundle {
  readonly code: string;
  readonly exported: readonly string[];
}

const IMPORT = /^import\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"];?/gm;
const EXPORT_FROM = /^export\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"];?/gm;
const EXPORT = /^export\s+((?:async\s+)?function|const|class)\s+([\w$]+)/gm;
/** Module syntax that is not supported here, or has no equivalent in a script. */
const UNKNOWN = /^(?:import|export)\b.*|\bimport\.meta\b|^(?:for )?await\b.*/m;

/**
 * Links modules into one file, each in its own scope, because loading ten modules costs about a third of Node's startup
 * time. Supports only the few import and export forms used by the bundled modules.
 *
 * @throws Error if a module uses another form or imports itself indirectly
 */
export function bundle(sources: Sources, entry: string): Bundle {
  const linker = new Linker(sources);
  const { variable, exported } = linker.link(entry);
  return { code: `'use strict';\n${linker.code}`, exported: exported.map((name) => `${name} = ${variable}.${name}`) };
}

interface Linked {
  readonly variable: string;
  readonly exported: readonly string[];
}

class Linker {
  readonly #sources: Sources;
  /** Null while its imports are being linked. */
  readonly #linked = new Map<string, Linked | null>();
  #moduleCount = 0;
  code = '';

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  link(path: string): Linked {
    const known = this.#linked.get(path);
    if (known === null) throw new Error(`bundle: ${path} imports itself`);
    if (known !== undefined) return known;
    this.#linked.set(path, null);
    const source = this.#sources.get(path);
    if (source === undefined) throw new Error(`bundle: no such module: ${path}`);
    /** Exported names, with the expression for each inside the module. */
    const exported = new Map<string, string>();
    const body = source
      .replaceAll(IMPORT, (_all, names: string, from: string) => this.#importStatement(path, names, from))
      .replaceAll(EXPORT_FROM, (_all, names: string, from: string) => {
        const module = this.#moduleOf(path, from);
        for (const [name, outside] of listed(names)) exported.set(outside, `${module}.${name}`);
        return '';
      })
      .replaceAll(EXPORT, (_all, form: string, name: string) => {
        exported.set(name, name);
        return `${form} ${name}`;
      });
    const unknown = UNKNOWN.exec(body);
    if (unknown !== null) throw new Error(`bundle: ${path} uses an unsupported form: ${unknown[0]}`);
    this.#moduleCount += 1;
    const variable = `module${this.#moduleCount}`;
    const linked = { variable, exported: [...exported.keys()] };
    this.#linked.set(path, linked);
    const members = Array.from(exported, ([name, value]) => `${name}: ${value}`);
    this.code += `const ${variable} = (() => {\n${body}\nreturn { ${members.join(', ')} };\n})();\n`;
    return linked;
  }

  /** Returns the statement that replaces an import. */
  #importStatement(path: string, names: string, from: string): string {
    const members = listed(names).map(([name, local]) => (name === local ? name : `${name}: ${local}`));
    return `const { ${members.join(', ')} } = ${this.#moduleOf(path, from)};`;
  }

  /** Returns the expression for an imported module. */
  #moduleOf(path: string, from: string): string {
    const inside = from.startsWith('.') ? join(dirname(path), from) : from;
    return from.startsWith('.') || this.#sources.has(from) ? this.link(inside).variable : `require('${from}')`;
  }
}

/** Parses the names between braces as `[name in the module, local name]`. */
function listed(names: string): readonly (readonly [string, string])[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => {
      const [of, here = of] = name.split(/\s+as\s+/);
      return [of!, here!];
    });
}
