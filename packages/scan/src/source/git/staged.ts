import { EnumCursor } from '../../graph/cursor.ts';
import type { SourceSpec } from '../../options.ts';
import type { Problem } from '../../result.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '../port.ts';
import { runGit } from './command.ts';
import { submodule, SUBMODULE_MODE } from './git.ts';

type StagedSpec = Extract<SourceSpec, { type: 'staged' }>;

/** Lists the blobs in the index that the last commit lacks, at their paths: what a commit would add. */
export class StagedSource implements ObjectSource {
  readonly name: string;
  readonly #objects: readonly DiscoveredObject[];
  readonly #problems: readonly Problem[];

  private constructor(name: string, objects: readonly DiscoveredObject[], problems: readonly Problem[]) {
    this.name = name;
    this.#objects = objects;
    this.#problems = problems;
  }

  static async open({ repository, index_file }: StagedSpec): Promise<StagedSource> {
    const variables: Record<string, string> = index_file === undefined ? {} : { GIT_INDEX_FILE: index_file };
    const said = await runGit(repository, DIFF_ARGUMENTS, variables);
    const objects: DiscoveredObject[] = [];
    const problems: Problem[] = [];
    for (const { mode, id, path } of changesIn(said)) {
      if (mode === SUBMODULE_MODE) problems.push(submodule(path));
      else if (/[^0]/.test(id)) objects.push({ path, locator: id, size_hint: -1 });
    }
    return new StagedSource(`staged:${repository}`, objects, problems);
  }

  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch {
    const position = cursor.take();
    if (position.at === 'done') return { objects: [], problems: [], cursor: EnumCursor.done() };
    if (position.at === 'continue' && position.state.type !== 'offset')
      throw new Error(`${this.name}: the cursor belongs to another source (${position.state.type})`);
    const from = position.at === 'continue' && position.state.type === 'offset' ? position.state.offset : 0;
    const objects = this.#objects.slice(from, from + limit);
    const to = from + objects.length;
    return {
      objects,
      problems: from === 0 ? this.#problems : [],
      cursor: to >= this.#objects.length ? EnumCursor.done() : EnumCursor.continue({ type: 'offset', offset: to }),
    };
  }

  close(): void {
    // There is nothing to release.
  }
}

const DIFF_ARGUMENTS = [
  'diff',
  '--cached',
  '--raw',
  '-z',
  '--no-abbrev',
  '--no-renames',
  '--no-relative',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--diff-filter=d',
  '--ignore-submodules=none',
];

/**
 * Parses `:MODE MODE ID ID STATUS` and a path, each terminated by a zero byte; the second mode and id are the index's.
 */
function changesIn(said: Buffer): { mode: string; id: string; path: string }[] {
  const fields = said.toString('utf8').split('\0');
  const changes: { mode: string; id: string; path: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = '', , id = ''] = fields[at]!.split(' ');
    changes.push({ mode, id, path: fields[at + 1]! });
  }
  return changes;
}
