import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isObject } from '@heddle/base/parse/faults';

const FILE = 'index.json';

/** Persists which stored code came from which origin: `{"version":1,"codes":{<origin>:<digest>}}`. */
export class CodeIndex {
  readonly #directory: string;
  readonly #codes: Map<string, string>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(directory: string, codes: Map<string, string>) {
    this.#directory = directory;
    this.#codes = codes;
  }

  /** Opens the index; a missing or unreadable file counts as empty, and the code is fetched again. */
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

  /** Records a digest by replacing the file; writes are serialized. */
  set(originKey: string, digest: string): Promise<void> {
    if (this.#codes.get(originKey) === digest) return Promise.resolve();
    this.#codes.set(originKey, digest);
    return this.#write();
  }

  /** Removes origins that are no longer listed. */
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
