import { messageOf } from '@heddle/base/thrown';
import type { SourceSpec } from '../options.ts';
import { ObjectFault, type ObjectOpener } from '../source/port.ts';

export type OpenOpener = (spec: SourceSpec) => ObjectOpener | Promise<ObjectOpener>;

/** The openers of one thread, each created for the first object of its source. */
export class Openers {
  readonly #sources: readonly SourceSpec[];
  readonly #openOpener: OpenOpener;
  readonly #ready = new Map<number, ObjectOpener>();
  readonly #opening = new Map<number, Promise<void>>();

  constructor(sources: readonly SourceSpec[], openOpener: OpenOpener) {
    this.#sources = sources;
    this.#openOpener = openOpener;
  }

  /** Returns the source's opener; null while it is being created: `onReady` is called afterwards. */
  of(source: number, onReady: () => void): ObjectOpener | null {
    const ready = this.#ready.get(source);
    if (ready !== undefined) return ready;
    if (!this.#opening.has(source)) this.#opening.set(source, this.#make(source).then(onReady));
    return null;
  }

  /** Resolves with the source's opener. */
  async opened(source: number): Promise<ObjectOpener> {
    for (;;) {
      const ready = this.of(source, () => undefined);
      if (ready !== null) return ready;
      await this.#opening.get(source);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#opening.values());
    for (const opener of this.#ready.values()) await opener.close();
  }

  async #make(source: number): Promise<void> {
    try {
      this.#ready.set(source, await this.#openOpener(this.#sources[source]!));
    } catch (error) {
      this.#ready.set(source, brokenOpener(error));
    }
  }
}

/** Replaces the opener of a source that cannot be opened: each of its objects reports the reason. */
function brokenOpener(error: unknown): ObjectOpener {
  const message = `its source cannot be opened: ${messageOf(error)}`;
  return {
    open: ({ path }) => {
      throw new ObjectFault({ code: 'source_failed', path, message, extent: 'skipped' }, error);
    },
    close: () => undefined,
  };
}
