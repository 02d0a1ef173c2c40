import { existsSync, readFileSync, statSync } from 'node:fs';

import { refused, systemFault } from '@heddle/base/terminal/refusal';
import { parsePorts } from '../targets/ports.ts';
import { createScope, type AddressScope } from '../targets/scope.ts';
import { linesOf, type LocatedText } from '../targets/target-lines.ts';
import { parseTargets, type Refusal, type TargetList } from '../targets/target-list.ts';
import type { ReconTargetOptions, ReconRequest } from './options.ts';
import { scopeOfEnvironment } from './scope-setting.ts';

/** The targets of a run, after scope and exclusions are applied. */
export interface ResolvedTargets {
  readonly targets: TargetList;
  readonly scope: AddressScope;
  readonly refused: readonly Refusal[];
  readonly refusedHosts: bigint;
  /** For hosts that do not name their own ports. */
  readonly ports: readonly number[];
}

const LIST_BYTES_MAX = 256 * 2 ** 20;
const STDIN_FD = 0;
/** Otherwise a missing file would be taken for a domain of that name and silently exclude nothing. */
const FILE_NAME = /^[^*.].*\.(?:txt|list|lst|csv|tsv|json|yaml|yml|conf|cfg|hosts)$|^\.{0,2}\//i;
const NO_FILE = 'no such file; write a domain of that name with a leading *.';

/** @throws HeddleError or CommandFailure that names flag, place and remedy */
export function resolveTargets(request: ReconRequest): ResolvedTargets {
  if (request.targets.length + request.lists.length === 0) {
    throw refused('name at least one target: a name, an address, a network, host:port, or -l FILE');
  }
  const fromStdin = [...request.lists, ...('wordlist' in request ? [request.wordlist] : [])];
  if (fromStdin.filter((path) => path === '-').length > 1) {
    throw refused('standard input can be read only once: use - for one list only');
  }
  const scope = createScope(scopeOf(request));
  const all = parseTargets(targetsOf(request), { exclude: entriesOf('--exclude', request.exclude) });
  const { targets, refused: fellOut, refusedHosts } = all.within(scope);
  const ports = 'ports' in request ? parsePorts(request.ports) : [];
  return { targets, scope, refused: fellOut, refusedHosts, ports };
}

/** Flags take precedence over the environment, as for settings. */
function scopeOf({ scope }: ReconTargetOptions): Iterable<LocatedText> {
  return scope.length > 0 ? entriesOf('--scope', scope) : scopeOfEnvironment(process.env);
}

function* targetsOf({ targets, lists }: ReconTargetOptions): Generator<LocatedText> {
  for (const text of targets) yield { text, place: 'TARGET' };
  for (const path of lists) {
    yield* path === '-' ? linesOf(readList('-l', STDIN_FD), 'standard input') : linesOf(readList('-l', path), path);
  }
}

/**
 * Returns entries as they are, and those of files: a file takes precedence over an entry of the same name, and `@FILE`
 * is always a file.
 */
function* entriesOf(flag: string, given: readonly string[]): Generator<LocatedText> {
  for (const each of given) {
    const path = each.startsWith('@') ? each.slice(1) : isFile(each) ? each : null;
    if (path === null && FILE_NAME.test(each)) throw refused(`${flag} ${each}: ${NO_FILE}`);
    if (path === null) yield { text: each, place: flag };
    else yield* linesOf(readList(flag, path), path);
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

function readList(flag: string, path: string | number): string {
  const name = path === STDIN_FD ? 'standard input' : String(path);
  try {
    if (typeof path === 'string' && statSync(path).size > LIST_BYTES_MAX) {
      throw refused(`${flag} ${name}: is larger than 256 MiB; split it, or list networks instead of addresses`);
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && error.name === 'CommandFailure') throw error;
    throw refused(`${flag} ${name}: ${systemFault(error)}`, error);
  }
}
