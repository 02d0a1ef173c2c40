import type { ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import { copyToMemory } from '../memory-copy.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { RawObject } from '../raw-object.ts';
import { Damage, LazyUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { SqlitePages, type Cell } from './pages.ts';
import type { RowShape } from './remains.ts';
import { RowShapes } from './row-shapes.ts';
import { columnsOf, hasRowIds, valuesOf, type SqliteValue } from './records.ts';

/** Tables of a database that are read, and characters of the statement that creates one. */
const TABLES_MAX = 100_000;
const SQL_CHARACTERS_MAX = 64 * 1024;
/** Characters of rows that are delivered at once. */
const PIECE_CHARACTERS = 64 * 1024;

interface Table {
  name: string;
  root: number;
  columns: readonly string[];
  hasRowIds: boolean;
}

/** Opens an SQLite database; within an archive it is kept in memory, and a larger one is read page by page. */
export async function openSqlite(
  source: ByteSource,
  budget: ArchiveBudget,
  close: () => Promise<void>,
): Promise<ArchiveReader> {
  if (source.canSeek && source.reader.size >= 0) return new SqliteReader(source, budget, close);
  const { source: copy, head } = await copyToMemory(source);
  return copy === null ? new RawObject('sqlite', head, source, budget, close) : new SqliteReader(copy, budget, close);
}

/**
 * Reads the tables of a database, each as an entry of JSON whose keys are the numbers of the rows, then the space
 * without rows, which contains deleted ones.
 */
class SqliteReader implements ArchiveReader {
  readonly format = 'sqlite';
  readonly close: () => Promise<void>;
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  #pages: SqlitePages | null = null;
  #tables: Table[] = [];
  /** Of tables and indexes, which have null. */
  readonly #roots = new Map<number, Table | null>([[1, null]]);
  #isEnded = false;

  constructor(source: ByteSource, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#source = source;
    this.#budget = budget;
    this.close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    if (this.#pages === null) return await this.#begin();
    const pages = this.#pages;
    const table = this.#tables.shift();
    if (table !== undefined)
      return this.#entry(`${table.name}.json`, (path) => new TableUnpacker(this.#rows(pages, table, path)));
    if (this.#isEnded) return null;
    this.#isEnded = true;
    return this.#entry('unused space', () => new UnusedUnpacker(() => this.#markUsed()));
  }

  /** Reads the schema, which is a table itself. */
  async #begin(): Promise<ArchiveEntry> {
    const budget = this.#budget;
    const lines: string[] = [];
    try {
      const pages = await SqlitePages.open(this.#source, (bytes) => budget.consume(bytes));
      this.#pages = pages;
      for await (const rows of pages.rows(1, (message) => this.#report(message))) this.#addSchema(rows, pages, lines);
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      throw budget.damage(error.message);
    }
    return this.#entry('schema.sql', () => new TableUnpacker(linesOf(lines)));
  }

  #addSchema(rows: readonly Cell[], pages: SqlitePages, lines: string[]): void {
    for (const { payload } of rows) {
      const [type, name, , root, sql] = valuesOf(payload, pages.encoding);
      if (typeof sql === 'string') lines.push(`${sql};\n`);
      if (typeof root === 'number' && root > 1 && this.#roots.size < TABLES_MAX) this.#roots.set(root, null);
      if (type !== 'table' || typeof name !== 'string' || typeof root !== 'number' || root < 1) continue;
      if (this.#tables.length >= TABLES_MAX) throw new Damage(`the database has more than ${TABLES_MAX} tables`);
      const text = typeof sql === 'string' ? sql.slice(0, SQL_CHARACTERS_MAX) : '';
      const table = { name, root, columns: columnsOf(text), hasRowIds: hasRowIds(text) };
      this.#tables.push(table);
      if (this.#roots.has(root)) this.#roots.set(root, table);
    }
  }

  #entry(shown: string, make: (path: string) => Unpacker): ArchiveEntry {
    const budget = this.#budget;
    budget.countEntry();
    const { name, path } = admitName(budget, Buffer.from(shown), 'latin1');
    const { entryBytesMax } = budget.limits;
    const open = (): EntryContent => {
      const unpacker = new LazyUnpacker(() => Promise.resolve(make(path)));
      return new EntryContent({ path, size: -1, unpacker, budget, entryBytesMax });
    };
    return { name, kind: 'file', size_hint: -1, open };
  }

  async *#rows(pages: SqlitePages, { root, columns }: Table, path: string): AsyncGenerator<string> {
    let number = 0;
    let cut = 0;
    yield '{\n';
    for await (const rows of pages.rows(root, (message) => this.#report(message, path))) {
      let text = '';
      for (const cell of rows) {
        number += 1;
        cut += cell.is_cut ? 1 : 0;
        text += rowText(cell, valuesOf(cell.payload, pages.encoding), columns, number);
      }
      yield text;
    }
    yield '}\n';
    if (cut > 0) this.#report(`rows that are damaged, or longer than what is read of one: ${cut}`, path);
  }

  /** Visits every tree once more, whether or not its rows were scanned: an index has copies of them. */
  async #markUsed(): Promise<UnusedSpace> {
    const pages = await SqlitePages.open(this.#source, () => undefined);
    const shapes = new RowShapes();
    for (const [root, table] of this.#roots) {
      const shape = table === null ? null : shapes.add(table.columns.length, table.hasRowIds);
      for await (const rows of pages.rows(root, () => undefined)) shape?.count(rows);
    }
    return { pages, shapes: shapes.list() };
  }

  #report(message: string, path = this.#budget.context.path): void {
    this.#budget.report({ code: 'malformed_archive', path, message, extent: 'partial' });
  }
}

/** Returns a row as a member of an object, on a line of its own. */
function rowText({ rowid }: Cell, values: readonly SqliteValue[], columns: readonly string[], number: number): string {
  const members = values.flatMap((value, index) => {
    if (value === null) return [];
    const name = columns[index] ?? `column ${index + 1}`;
    return [`${JSON.stringify(name)}: ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`];
  });
  return `"${rowid ?? number}": {${members.join(', ')}},\n`;
}

// eslint-disable-next-line @typescript-eslint/require-await -- like rows, which are read from pages
async function* linesOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** Delivers text that is generated piece by piece. */
class TableUnpacker implements Unpacker {
  readonly #lines: AsyncGenerator<string>;

  constructor(lines: AsyncGenerator<string>) {
    this.#lines = lines;
  }

  async next(): Promise<Uint8Array | null> {
    let text = '';
    while (text.length < PIECE_CHARACTERS) {
      const line = await this.#lines.next();
      if (line.done === true) break;
      text += line.value;
    }
    return text === '' ? null : Buffer.from(text);
  }

  close(): void {
    void this.#lines.return(undefined);
  }
}

/** The pages of a database of which the used ones are marked, and the rows that may have been deleted. */
interface UnusedSpace {
  pages: SqlitePages;
  shapes: readonly RowShape[];
}

/** Delivers the bytes of a database that belong to no row. */
class UnusedUnpacker implements Unpacker {
  readonly #open: () => Promise<UnusedSpace>;
  #space: UnusedSpace | null = null;
  #next = 1;

  constructor(open: () => Promise<UnusedSpace>) {
    this.#open = open;
  }

  async next(): Promise<Uint8Array | null> {
    const { pages, shapes } = (this.#space ??= await this.#open());
    while (this.#next <= pages.count) {
      const bytes = Buffer.concat(await pages.unusedParts(this.#next++, shapes));
      if (bytes.some((byte) => byte !== 0)) return bytes;
    }
    return null;
  }

  close(): void {
    this.#next = Infinity;
  }
}
