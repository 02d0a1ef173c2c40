import { isBuiltin } from 'node:module';
import { importsOf } from './imports.ts';
import { type Finding, isTypeScript, type SourceText } from './source.ts';

/** The parts of package.json that the checks read. */
export interface Manifest {
  name: string;
  dependencies?: Readonly<Record<string, string>>;
  devDependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
}

const DOCUMENT = 'docs/dependencies.md';

/** Holds that every dependency has its line in the document, with a reason, and the other way round. */
export function checkDocumented(manifests: readonly Manifest[], document: string): Finding[] {
  const documented = documentedNames(document);
  const declared = new Set(
    manifests
      .flatMap((each) => [each.dependencies, each.devDependencies, each.optionalDependencies])
      .flatMap((names) => Object.keys(names ?? {}))
      .filter((name) => !manifests.some((own) => own.name === name)),
  );
  const findings: Finding[] = [];
  for (const name of declared) {
    if (documented.has(name)) continue;
    const message = `'${name}' has no line in ${DOCUMENT}; say what it is for and why this one`;
    findings.push({ path: 'package.json', line: 1, message });
  }
  for (const [name, line] of documented) {
    if (declared.has(name)) continue;
    findings.push({ path: DOCUMENT, line, message: `'${name}' is not in package.json; remove its line` });
  }
  return findings;
}

/** Names in the first cell of the tables' rows, each with its line; a row without a reason does not count. */
function documentedNames(document: string): Map<string, number> {
  const names = new Map<string, number>();
  for (const [index, line] of document.split('\n').entries()) {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells[0] !== '' || cells.slice(2).join('').length < 10) continue;
    for (const [, name] of (cells[1] ?? '').matchAll(/`([^`]+)`/g)) if (name !== undefined) names.set(name, index + 1);
  }
  return names;
}

/** Holds that the published code imports only what is installed with it, and loads optional packages only when used. */
export function checkImported(sources: readonly SourceText[], manifest: Manifest): Finding[] {
  const findings: Finding[] = [];
  for (const source of sources.filter(({ path }) => isTypeScript(path))) {
    for (const edge of importsOf(source)) {
      if (edge.specifier.startsWith('.') || isBuiltin(edge.specifier)) continue;
      const message = importBreach(edge.specifier, edge.typeOnly, edge.dynamic, manifest);
      if (message !== null) findings.push({ path: source.path, line: edge.line, message });
    }
  }
  return findings;
}

function importBreach(specifier: string, typeOnly: boolean, dynamic: boolean, manifest: Manifest): string | null {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  if (manifest.dependencies?.[name] !== undefined) return null;
  if (manifest.optionalDependencies?.[name] !== undefined) {
    if (typeOnly || dynamic) return null;
    return `'${name}' is optional; load it with \`await import()\` where it is used, and name it in the error when it is missing`;
  }
  if (typeOnly && manifest.devDependencies?.[`@types/${name}`] !== undefined) return null;
  return `'${name}' is not among the dependencies of ${manifest.name}; the published package would lack it`;
}
