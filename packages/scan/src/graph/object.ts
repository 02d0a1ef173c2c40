import { live } from './live.ts';

/** Unique in one run, and the same in every run over the same content, including resumed ones. */
export interface ObjectId {
  source: number;
  /** Number of the listed object, counted over all sources. */
  idx: number;
  /** 0 for the listed object itself; its nested objects count from 1 in the order of discovery. */
  entry: number;
}

/** Properties of an object before it is opened. */
export interface ObjectDescriptor {
  path: string;
  /** Bytes; may differ from the actual size, -1 if unknown. */
  size_hint: number;
  object_id: ObjectId;
  source_id: number;
}

/** A thread's data for an object in flight. */
export interface ObjectWork {
  /** The last reference is released and the permit is free again. Called once. */
  onReleased(): void;
}

/** An object in flight. Lives exactly as long as it is referenced, and holds one permit meanwhile. */
export class ObjectContext {
  readonly descriptor: ObjectDescriptor;
  /** 0 for a listed object; entries of an archive are one deeper than the archive. */
  readonly depth: number;
  work: ObjectWork | null = null;
  readonly #releasePermit: () => void;
  #references = 0;

  constructor(descriptor: ObjectDescriptor, depth: number, releasePermit: () => void) {
    this.descriptor = descriptor;
    this.depth = depth;
    this.#releasePermit = releasePermit;
    live.contexts += 1;
  }

  get references(): number {
    return this.#references;
  }

  /** Only for `ObjectRef`. */
  retain(): void {
    this.#references += 1;
  }

  /** Only for `ObjectRef`. */
  drop(keepPermit: boolean): void {
    this.#references -= 1;
    if (this.#references > 0) return;
    live.contexts -= 1;
    if (keepPermit) return;
    this.#releasePermit();
    const { work } = this;
    this.work = null;
    work?.onReleased();
  }
}

/** One owner's reference to an object: cloned for each further step, disposed of exactly once. */
export class ObjectRef implements Disposable {
  #context: ObjectContext | null;

  constructor(context: ObjectContext) {
    this.#context = context;
    context.retain();
    live.references += 1;
  }

  get context(): ObjectContext {
    if (this.#context === null) throw new Error('object: this reference is already released');
    return this.#context;
  }

  clone(): ObjectRef {
    return new ObjectRef(this.context);
  }

  [Symbol.dispose](): void {
    this.#release(false);
  }

  /**
   * Ends the context but keeps its permit in use, for the thread that the object moves to. Requires the last
   * reference.
   */
  detach(): ObjectDescriptor {
    const { descriptor, references } = this.context;
    if (references !== 1) throw new Error(`object: ${references} references exist, so it cannot move`);
    this.#release(true);
    return descriptor;
  }

  #release(keepPermit: boolean): void {
    const context = this.#context;
    if (context === null) throw new Error('object: this reference is already released');
    this.#context = null;
    live.references -= 1;
    context.drop(keepPermit);
  }
}
