import { EnumCursor } from '../graph/cursor.ts';
import { problemOf } from './faults.ts';
import { type EnumerationBatch, ObjectFault, type ObjectOpener, type ObjectReader, type ObjectSource } from './port.ts';
import { openStream } from './stream-reader.ts';

const STANDARD_INPUT = 0;

/** Standard input as one object. It cannot be read again: resuming after it finds nothing. */
export class StdinSource implements ObjectSource {
  readonly name = 'stdin';
  readonly #path: string;

  /** @param path path of the object in findings */
  constructor(path: string) {
    this.#path = path;
  }

  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch {
    const position = cursor.take();
    if (limit < 1) throw new RangeError(`stdin: limit must be at least 1, not ${limit}`);
    const objects = position.at === 'start' ? [{ path: this.#path, locator: '-', size_hint: -1 }] : [];
    return { objects, problems: [], cursor: EnumCursor.done() };
  }

  close(): void {
    // The reader leaves standard input open.
  }
}

/** Opens standard input, once. */
export class StdinOpener implements ObjectOpener {
  open(object: { path: string }): ObjectReader {
    try {
      return openStream(object.path, STANDARD_INPUT);
    } catch (error) {
      throw new ObjectFault(problemOf(error, object.path), error);
    }
  }

  close(): void {
    // The reader leaves standard input open.
  }
}
