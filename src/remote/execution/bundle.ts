import { dirname, join } from 'node:path/posix';

/** Plain JavaScript by its path, as the modules name each other. */
export type Sources = ReadonlyMap<string, string>;

/** A script, and what its first module exports, as `name = expression`. */
export interface Bundle {
  readonly code: string;
  readonly exported: readonly string[];
}

const IMPORT = /^import\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"];?/gm;
const EXPORT_FROM = /^export\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"];?/gm;
const EXPORT = /^export\s+((?:async\s+)?function|const|class)\s+([\w$]+)/gm;
/** A form that none of the above stands for, or that a script has no equal of. */
const UNKNOWN = /^(?:import|export)\b.*|\bimport\.meta\b|^(?:for )?await\b.*/m;

/**
 * Modules linked into one file, each in a scope of its own: a process that loads ten modules pays for nine of them what it
 * could start a third of Node for. It knows the few forms that the modules it is used for are written in.
 *
 * @throws Error where a module has another form, or imports itself by way of others
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
  /** Null while its imports are linked. */
  readonly #linked = new Map<string, Linked | null>();
  #named = 0;
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
    if (source === undefined) throw new Error(`bundle: there is no module ${path}`);
    /** Names for others, with what each stands for within the module. */
    const exported = new Map<string, string>();
    const body = source
      .replaceAll(IMPORT, (_all, names: string, from: string) => this.#taken(path, names, from))
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
    if (unknown !== null) throw new Error(`bundle: ${path} has a form that is not known here: ${unknown[0]}`);
    this.#named += 1;
    const variable = `module${this.#named}`;
    const linked = { variable, exported: [...exported.keys()] };
    this.#linked.set(path, linked);
    const members = Array.from(exported, ([name, value]) => `${name}: ${value}`);
    this.code += `const ${variable} = (() => {\n${body}\nreturn { ${members.join(', ')} };\n})();\n`;
    return linked;
  }

  /** The statement that stands for an import. */
  #taken(path: string, names: string, from: string): string {
    const members = listed(names).map(([name, local]) => (name === local ? name : `${name}: ${local}`));
    return `const { ${members.join(', ')} } = ${this.#moduleOf(path, from)};`;
  }

  /** What stands for a module that another one names. */
  #moduleOf(path: string, from: string): string {
    return from.startsWith('.') ? this.link(join(dirname(path), from)).variable : `require('${from}')`;
  }
}

/** Names between braces, as `[of the module, here]`. */
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
