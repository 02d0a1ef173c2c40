import { flowKeys } from './flow-keys.ts';
import type { Keys } from './key-path.ts';
import { holdsName, holdsValue } from './named-beside.ts';

interface Line {
  indent: number;
  /** Columns of the dashes before the key, outermost first. */
  dashes: number[];
  key?: string;
  /** Column of the key, or of what else follows the dashes. */
  column: number;
  value: string;
}

const LINES_MAX = 500;
const NAMES_AFTER_LINES = 6;
const LINE =
  /^(\s*)((?:-\s+)*)(?:(?:"([^"\n]{1,100})"|'([^'\n]{1,100})'|([^\s#"'&*!|>%@`[\]{},:-][^:\n#]{0,100}?|-?[\w.-]{1,100}?))\s*:(?=\s|$))?/;

/** Reads the lines above a value in YAML: each that is indented less than the one below holds the next key. */
export function yamlKeys(text: string, at: number): Keys {
  const flow = flowKeys(text, at, ':');
  if (flow === null) return blockKeys(text, at);
  const { keys, isCut } = blockKeys(text, flow.start);
  return { keys: [...keys, ...flow.keys], isCut, ...(flow.name === undefined ? {} : { name: flow.name }) };
}

function blockKeys(text: string, at: number): Keys {
  const lines = text.slice(0, at).split('\n').slice(-LINES_MAX);
  const own = parse(lines.pop() ?? '');
  const keys: string[] = [];
  const walk = new Walk(keys);
  walk.begin(own);
  let name: string | undefined;
  const wantsName = holdsValue(own.key);
  const ownColumn = own.column;
  while (lines.length > 0 && !walk.isDone) {
    const raw = lines.pop()!;
    if (raw.startsWith('---')) {
      walk.finish();
      break;
    }
    if (raw.trim() === '' || raw.trimStart().startsWith('#')) continue;
    const line = parse(raw);
    if (wantsName && name === undefined && keys.length <= 2 && line.column === ownColumn && holdsName(line.key))
      name = line.value;
    walk.visit(line);
  }
  walk.finish();
  if (wantsName) name ??= nameAfter(text.slice(at), ownColumn);
  return { keys, isCut: !walk.isDone, ...(name === undefined ? {} : { name }) };
}

class Walk {
  readonly #keys: string[];
  /** A line with a key left of this column is a parent. */
  #column = 0;
  /** Columns of dashes whose list position is still being counted. */
  #dashes: number[] = [];
  #position = 0;

  constructor(keys: string[]) {
    this.#keys = keys;
  }

  get isDone(): boolean {
    return this.#column === 0 && this.#dashes.length === 0;
  }

  begin(line: Line): void {
    this.#take(line);
  }

  visit(line: Line): void {
    const dash = this.#dashes.at(-1);
    if (dash !== undefined) {
      if (line.indent > dash) return;
      if (line.indent === dash && line.dashes[0] === dash) {
        this.#position++;
        return;
      }
      this.#endList();
      // A list may be indented as far as its key.
      if (line.key !== undefined && line.dashes.length === 0 && line.indent <= dash) this.#take(line);
      return;
    }
    if (line.column < this.#column) this.#take(line);
    else if (line.column === this.#column && line.dashes.length > 0) this.#enter(line);
  }

  finish(): void {
    if (this.#dashes.length > 0) this.#endList();
  }

  #take(line: Line): void {
    if (line.key !== undefined) this.#keys.unshift(line.key);
    this.#enter(line);
  }

  #enter({ dashes, column }: Line): void {
    this.#column = dashes[0] ?? column;
    this.#dashes = [...dashes];
    this.#position = 0;
    // Inner lists of one line begin there.
    while (this.#dashes.length > 1) {
      this.#dashes.pop();
      this.#keys.unshift('[0]');
    }
  }

  #endList(): void {
    this.#keys.unshift(`[${this.#position}]`);
    this.#dashes = [];
    this.#position = 0;
  }
}

function parse(raw: string): Line {
  const [whole, space = '', dashed = '', ...names]: (string | undefined)[] = LINE.exec(raw) ?? [''];
  const dashes: number[] = [];
  for (let at = 0; at < dashed.length; at++) if (dashed[at] === '-') dashes.push(space.length + at);
  const key = names.find((each) => each !== undefined);
  const value = raw
    .slice(whole!.length)
    .replace(/^:\s*/, '')
    .trim()
    .replace(/^["']|["']$/g, '');
  const column = space.length + dashed.length;
  return { indent: space.length, dashes, column, value, ...(key === undefined ? {} : { key: key.trim() }) };
}

function nameAfter(text: string, column: number): string | undefined {
  const lines = text.split('\n').slice(1, 1 + NAMES_AFTER_LINES);
  for (const raw of lines) {
    const line = parse(raw);
    if (line.dashes.length > 0 || line.column < column) return undefined;
    if (line.column === column && holdsName(line.key)) return line.value;
  }
  return undefined;
}
