import type { Input } from '../byte-source.ts';
import { Damage, type Unpacker } from './unpacker.ts';

/** Not read yet. */
export class XzUnpacker implements Unpacker {
  constructor(input: Input) {
    Object.freeze(input);
  }

  next(): never {
    throw new Damage('xz is not read yet', 'unsupported_archive');
  }

  close(): void {
    return undefined;
  }
}
