import type { Input } from '../byte-source.ts';
import { Damage, type Unpacker } from './unpacker.ts';

/** Not read yet. */
export class Bzip2Unpacker implements Unpacker {
  constructor(input: Input) {
    Object.freeze(input);
  }

  next(): never {
    throw new Damage('bzip2 is not read yet', 'unsupported_archive');
  }

  close(): void {
    return undefined;
  }
}
