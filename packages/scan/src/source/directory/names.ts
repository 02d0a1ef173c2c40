/** The type of a directory entry, as one digit. */
export const ENTRY = {
  unknown: 0,
  file: 1,
  directory: 2,
  link: 3,
  fifo: 4,
  socket: 5,
  character_device: 6,
  block_device: 7,
} as const;

export type EntryKind = (typeof ENTRY)[keyof typeof ENTRY];

/** The names of one directory in the order of their bytes. */
export interface NameList {
  readonly length: number;
  /** Returns the bytes of a name as a latin1 string. */
  name(index: number): string;
  kind(index: number): EntryKind;
}

/** Above this count, names are kept as bytes: a JavaScript string needs three times as much memory. */
const STRINGS_MAX = 8192;

/** Returns the first index whose name is greater than `name`. */
export function indexAfter(names: NameList, name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names.name(middle) > name) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns the index of `name`, or -1. */
export function indexOfName(names: NameList, name: string): number {
  const index = indexAfter(names, name) - 1;
  return index >= 0 && names.name(index) === name ? index : -1;
}

/** Collects names in any order, in little memory, and sorts them at the end. */
export class NameCollector {
  /** Name, zero byte, digit of the type: sorts like the names, since no name contains a zero byte. */
  #few: string[] = [];
  #many: PackedNames | null = null;

  add(name: string, kind: EntryKind): void {
    if (this.#many !== null) {
      this.#many.add(name, kind);
      return;
    }
    this.#few.push(`${name}\0${kind}`);
    if (this.#few.length <= STRINGS_MAX) return;
    this.#many = new PackedNames();
    for (const entry of this.#few) this.#many.add(nameOf(entry), kindOf(entry));
    this.#few = [];
  }

  finish(): NameList {
    if (this.#many === null) return new FewNames(this.#few.sort());
    this.#many.sort();
    return this.#many;
  }
}

function nameOf(entry: string): string {
  return entry.slice(0, -2);
}

function kindOf(entry: string): EntryKind {
  return (entry.charCodeAt(entry.length - 1) - 48) as EntryKind;
}

class FewNames implements NameList {
  readonly #entries: readonly string[];

  constructor(entries: readonly string[]) {
    this.#entries = entries;
  }

  get length(): number {
    return this.#entries.length;
  }

  name(index: number): string {
    return nameOf(this.#entries[index]!);
  }

  kind(index: number): EntryKind {
    return kindOf(this.#entries[index]!);
  }
}

/** Bytes of a record besides the name: the type, and a zero byte at the end. */
const RECORD_EXTRA = 2;

/** Consecutive records (type, name, zero byte), and their offsets sorted by name. */
class PackedNames implements NameList {
  #bytes = Buffer.allocUnsafeSlow(512 * 1024);
  #used = 0;
  #starts = new Uint32Array(2 * STRINGS_MAX);
  #count = 0;

  get length(): number {
    return this.#count;
  }

  add(name: string, kind: EntryKind): void {
    if (this.#used + name.length + RECORD_EXTRA > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.ceil(this.#bytes.length * 1.5) + name.length);
      this.#bytes.copy(grown, 0, 0, this.#used);
      this.#bytes = grown;
    }
    if (this.#count === this.#starts.length) {
      const grown = new Uint32Array(Math.ceil(this.#count * 1.5));
      grown.set(this.#starts);
      this.#starts = grown;
    }
    this.#starts[this.#count] = this.#used;
    this.#count += 1;
    this.#bytes[this.#used] = kind;
    this.#bytes.write(name, this.#used + 1, 'latin1');
    this.#used += name.length + RECORD_EXTRA;
    this.#bytes[this.#used - 1] = 0;
  }

  name(index: number): string {
    const start = this.#starts[index]! + 1;
    return this.#bytes.toString('latin1', start, this.#bytes.indexOf(0, start));
  }

  kind(index: number): EntryKind {
    return this.#bytes[this.#starts[index]!] as EntryKind;
  }

  /**
   * Sorts by three-way radix quicksort: names of one directory share long prefixes, which it compares once instead of
   * at every comparison. The stack is explicit, since a name has hundreds of bytes.
   */
  sort(): void {
    const bytes = this.#bytes;
    const starts = this.#starts;
    const pending: number[] = [0, this.#count, 1];
    while (pending.length > 0) {
      const depth = pending.pop()!;
      const high = pending.pop()!;
      const low = pending.pop()!;
      if (high - low < 2) continue;
      const pivot = bytes[starts[(low + high) >>> 1]! + depth]!;
      let less = low;
      let greater = high;
      for (let at = low; at < greater;) {
        const start = starts[at]!;
        const byte = bytes[start + depth]!;
        if (byte === pivot) {
          at += 1;
          continue;
        }
        const other = byte < pivot ? less++ : --greater;
        starts[at] = starts[other]!;
        starts[other] = start;
        if (byte < pivot) at += 1;
      }
      pending.push(low, less, depth, greater, high, depth);
      // The zero byte ends a name: names that agree up to it are equal.
      if (pivot !== 0) pending.push(less, greater, depth + 1);
    }
  }
}
