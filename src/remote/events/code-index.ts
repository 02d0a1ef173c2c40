import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isObject } from '../../domain/parse/faults.ts';

const FILE = 'index.json';

/** Which code of the store came from which origin, across restarts: `{"version":1,"codes":{<origin>:<digest>}}`. */
export class CodeIndex {
  readonly #directory: string;
  readonly #codes: Map<string, string>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(directory: string, codes: Map<string, string>) {
    this.#directory = directory;
    this.#codes = codes;
  }

  /** A file that is not there or cannot be read is an empty one: the code is fetched again. */
  static async open(directory: string): Promise<CodeIndex> {
    const text = await readFile(join(directory, FILE), 'utf8').catch(() => '{}');
    const codes = new Map<string, string>();
    try {
      const document = JSON.parse(text) as unknown;
      const listed = isObject(document) && isObject(document['codes']) ? document['codes'] : {};
      for (const [key, digest] of Object.entries(listed)) if (typeof digest === 'string') codes.set(key, digest);
    } catch {
      codes.clear();
    }
    return new CodeIndex(directory, codes);
  }

  get(originKey: string): string | null {
    return this.#codes.get(originKey) ?? null;
  }

  /** Replaces the file by a new one; writes happen one after the other. */
  set(originKey: string, digest: string): Promise<void> {
    if (this.#codes.get(originKey) === digest) return Promise.resolve();
    this.#codes.set(originKey, digest);
    return this.#write();
  }

  /** Forgets origins that are listed no more. */
  keepOnly(originKeys: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#codes.keys()].filter((key) => !originKeys.has(key));
    for (const key of gone) this.#codes.delete(key);
    return gone.length === 0 ? Promise.resolve() : this.#write();
  }

  #write(): Promise<void> {
    const written = this.#writing.then(async () => {
      const document = { version: 1, codes: Object.fromEntries(this.#codes) };
      const beside = join(this.#directory, `.${FILE}`);
      await writeFile(beside, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 });
      await rename(beside, join(this.#directory, FILE));
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }
}
