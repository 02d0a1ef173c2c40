import { BudgetFault, type ArchiveContext } from '../../../src/archive/context.ts';
import type { ArchiveEntry, ArchiveReader } from '../../../src/archive/port.ts';
import type { Random } from '@heddle/base/random';
import { ObjectFault, type ObjectReader } from '../../../src/source/port.ts';

/** A file, or an archive with its content. */
export interface MadeUpObject {
  name: string;
  size: number;
  /** Null: a file. */
  entries: MadeUpObject[] | null;
  access: 'carry' | 'range';
  isPrompt: boolean;
  /** Reading fails at this offset; -1 never. */
  faultAt: number;
  cannotOpen: boolean;
  /** Listing exhausts a budget after this many entries; -1 never. */
  budgetAfter: number;
  /** It looks like an archive but is none. */
  isFalseArchive: boolean;
}

export function makeUp(random: Random, depth: number, name: string): MadeUpObject {
  const chance = (p: number): boolean => random.next() < p;
  const below = (n: number): number => Math.floor(random.next() * n);
  const isArchive = depth > 0 && chance(0.35);
  return {
    name,
    size: below(60),
    entries: isArchive ? Array.from({ length: below(5) }, (_, i) => makeUp(random, depth - 1, `e${i}`)) : null,
    access: chance(0.5) ? 'carry' : 'range',
    isPrompt: chance(0.6),
    faultAt: !isArchive && chance(0.1) ? below(60) : -1,
    cannotOpen: chance(0.05),
    budgetAfter: isArchive && chance(0.15) ? below(4) : -1,
    isFalseArchive: isArchive && chance(0.1),
  };
}

/** Returns a byte of an object, so that any chunk can be verified. */
export function byteAt(path: string, offset: number): number {
  return (path.length * 31 + offset * 7 + path.charCodeAt(path.length - 1)) & 0x7f;
}

/** Resolves later, as scheduled. */
export type Later = <T>(answer: () => T) => Promise<T>;

export function openMadeUp(object: MadeUpObject, path: string, later: Later, open: Set<string>): ObjectReader {
  if (object.cannotOpen) throw new ObjectFault({ code: 'unreadable', path, message: 'no', extent: 'skipped' });
  open.add(path);
  const readNow = (target: Uint8Array, start: number, length: number, offset: number): number => {
    if (object.faultAt >= 0 && offset + length > object.faultAt && offset + length > 0) {
      if (offset >= object.faultAt)
        throw new ObjectFault({ code: 'unreadable', path, message: 'ill', extent: 'partial' });
    }
    const end = object.faultAt >= 0 ? Math.min(object.size, object.faultAt) : object.size;
    // A short read is not the end.
    const count = Math.max(0, Math.min(length, end - offset, 1 + (length % 13)));
    if (count === 0 && object.faultAt >= 0 && object.faultAt < object.size)
      throw new ObjectFault({ code: 'unreadable', path, message: 'ill', extent: 'partial' });
    for (let i = 0; i < count; i++) target[start + i] = byteAt(path, offset + i);
    return count;
  };
  return {
    size: object.isPrompt ? object.size : -1,
    access: object.access,
    read: (target, start, length, offset) =>
      object.isPrompt ? readNow(target, start, length, offset) : later(() => readNow(target, start, length, offset)),
    close: () => {
      if (!open.delete(path)) throw new Error(`${path} was closed twice`);
      return object.isPrompt ? undefined : later(() => undefined);
    },
  };
}

/** An archive whose entries come from its description, not from its bytes. */
export function openMadeUpArchive(
  object: MadeUpObject,
  context: ArchiveContext,
  later: Later,
  open: Set<string>,
): ArchiveReader {
  const { path, depth, options } = context;
  if (depth >= options.depthMax)
    throw new BudgetFault('archive', { code: 'depth_budget', path, message: 'too deep', extent: 'skipped' });
  if (object.isFalseArchive)
    throw new ObjectFault({ code: 'malformed_archive', path, message: 'none', extent: 'skipped' });
  let next = 0;
  const entryOf = (entry: MadeUpObject): ArchiveEntry => ({
    name: entry.name,
    kind: 'file',
    size_hint: entry.size,
    open: () => openMadeUp({ ...entry, access: 'carry' }, `${path}!${entry.name}`, later, open),
  });
  return {
    format: 'tar',
    next: () =>
      later(() => {
        if (object.budgetAfter === next)
          throw new BudgetFault('archive', { code: 'archive_bytes_budget', path, message: 'full', extent: 'partial' });
        const entry = object.entries![next++];
        return entry === undefined ? null : entryOf(entry);
      }),
    close: () => undefined,
  };
}
