import { posix } from 'node:path';
import ts from 'typescript';
import { PACKAGES_OF_ROOMS, PURE_BASE, type Room } from './rooms.ts';
import { type Finding, isTypeScript, lineOf, parse, type SourceText, visit } from './source.ts';

/** One import, re-export, dynamic import or type import of a file. */
export interface ImportEdge {
  from: string;
  line: number;
  /** As written. */
  specifier: string;
  /** The file meant, from the root; null for packages and Node's own modules. */
  to: string | null;
  /** Erased by the compiler: nothing is loaded. */
  typeOnly: boolean;
  /** `import('…')`: loaded when the code runs, not when the file is loaded. */
  dynamic: boolean;
}

/** Every import of one file, in the order of the text. */
export function importsOf(source: SourceText): ImportEdge[] {
  const file = parse(source);
  const edges: ImportEdge[] = [];
  const add = (node: ts.Node, target: ts.Node | undefined, kind: { typeOnly: boolean; dynamic: boolean }): void => {
    if (target === undefined || !ts.isStringLiteralLike(target)) return;
    const specifier = target.text;
    const to = specifier.startsWith('.') ? posix.join(posix.dirname(source.path), specifier) : fileOfPackage(specifier);
    edges.push({ from: source.path, line: lineOf(file, node), specifier, to, ...kind });
  };
  visit(file, (node) => {
    if (ts.isImportDeclaration(node)) {
      const typeOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      add(node, node.moduleSpecifier, { typeOnly, dynamic: false });
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, { typeOnly: node.isTypeOnly, dynamic: false });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node, node.arguments[0], { typeOnly: false, dynamic: true });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, { typeOnly: true, dynamic: false });
    }
  });
  return edges;
}

/** A source file, as the rooms see it: its room, and its path within the room. */
interface Place {
  room: string;
  path: string;
}

/** Returns the room of a source file; null for a file outside, and for one beside the rooms of its package. */
export function roomOf(path: string): string | null {
  return placeOf(path)?.room ?? null;
}

function placeOf(path: string): Place | null {
  const [, name, inside] = /^packages\/([^/]+)\/src\/(.+)$/.exec(path) ?? [];
  if (name === undefined || inside === undefined || name === 'test-support') return null;
  if (name === 'base' && PURE_BASE.some((pure) => inside.startsWith(pure))) return { room: 'vocabulary', path: inside };
  if (!PACKAGES_OF_ROOMS.includes(name)) return { room: name, path: inside };
  const [room = '', ...rest] = inside.split('/');
  return rest.length === 0 ? null : { room, path: rest.join('/') };
}

/** Returns the file that another package's specifier means, such as `@heddle/core/engine/port`. */
function fileOfPackage(specifier: string): string | null {
  const [, name, inside = 'index'] = /^@heddle\/([^/]+)(?:\/(?:internal\/)?(.+))?$/.exec(specifier) ?? [];
  return name === undefined ? null : `packages/${name}/src/${inside}.ts`;
}

/** Holds that the product's code enters other packages only by their public exports. */
export function checkDoors(sources: readonly SourceText[]): Finding[] {
  return sources.flatMap((source) =>
    importsOf(source)
      .filter(({ specifier }) => /^(?:@heddle\/[^/]+|heddle)\/internal\//.test(specifier))
      .map(({ line, specifier }) => ({
        path: source.path,
        line,
        message: `'${specifier}' is for tests; use an export of the package, or add one to its package.json`,
      })),
  );
}

/** Holds the arrows between the rooms: who may import whom. */
export function checkRooms(sources: readonly SourceText[], rooms: Readonly<Record<string, Room>>): Finding[] {
  const findings: Finding[] = [];
  for (const source of sources.filter(({ path }) => isTypeScript(path))) {
    const name = roomOf(source.path);
    const room = name === null ? undefined : rooms[name];
    if (name === null || room === undefined) {
      const message = `is in no known room; move it to one of: ${Object.keys(rooms).join(', ')}`;
      findings.push({ path: source.path, line: 1, message });
      continue;
    }
    for (const edge of importsOf(source)) {
      const message = breach(name, room, edge);
      if (message !== null) findings.push({ path: source.path, line: edge.line, message });
    }
  }
  return findings;
}

function breach(name: string, room: Room, edge: ImportEdge): string | null {
  if (edge.to === null) {
    if (room.packages !== false) return null;
    return `${name} is pure and may not import '${edge.specifier}'; take the value as a parameter, or move this code to a higher room`;
  }
  const target = placeOf(edge.to);
  if (target === null) return `'${edge.specifier}' lies outside the rooms; move what is needed into a room`;
  if (target.room === name || allows(room.imports, target, room.except)) return null;
  const allowed = room.imports.join(', ');
  return (
    `${name} may not import ${target.room} ('${edge.specifier}'); it may import: ${allowed === '' ? 'nothing' : allowed}. ` +
    `Turn the arrow round (a parameter or a port), or move the code`
  );
}

function allows(entries: readonly string[], { room, path }: Place, except: readonly string[] = []): boolean {
  const matches = (entry: string): boolean => entry === '*' || entry === room || entry === `${room}/${path}`;
  return entries.some(matches) && !except.some(matches);
}

/** Finds import cycles among the files; type imports do not count, since nothing is loaded by them. */
export function checkCycles(sources: readonly SourceText[]): Finding[] {
  const code = sources.filter(({ path }) => isTypeScript(path));
  const edges = new Map(code.map((s) => [s.path, importsOf(s).filter((e) => !e.typeOnly && e.to !== null)]));
  const findings: Finding[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const walk = (path: string): void => {
    trail.push(path);
    for (const { to, line } of edges.get(path) ?? []) {
      if (to === null || !edges.has(to)) continue;
      const start = trail.indexOf(to);
      if (start >= 0) {
        const cycle = [...trail.slice(start), to].join(' -> ');
        findings.push({
          path,
          line,
          message: `closes an import cycle: ${cycle}; move what both need into a third file`,
        });
      } else if (!done.has(to)) {
        walk(to);
      }
    }
    trail.pop();
    done.add(path);
  };
  for (const path of edges.keys()) if (!done.has(path)) walk(path);
  return findings;
}
