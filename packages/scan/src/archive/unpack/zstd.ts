import type { Input } from '../byte-source.ts';
import { isFollowed, trailingRemark } from './gzip.ts';
import { Damage, takeBytes, type Remark, type Unpacker } from './unpacker.ts';
import { ZlibUnpacker } from './zlib.ts';

/** Decompresses the concatenated frames of a Zstandard file and ignores skippable frames. */
export class ZstdUnpacker implements Unpacker {
  readonly #input: Input;
  #frame: ZlibUnpacker | null = null;
  #frames = 0;
  #remark: Remark | undefined;

  constructor(input: Input) {
    this.#input = input;
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#frame === null && !(await this.#begin())) return null;
      const piece = await this.#frame!.next();
      if (piece !== null) return piece;
      this.#frame!.close();
      this.#frame = null;
    }
  }

  async #begin(): Promise<boolean> {
    for (;;) {
      const head = await this.#input.peek(4);
      if (isSkippable(head)) {
        await this.#skip();
        continue;
      }
      if (this.#frames > 0 && !isFrame(head) && !(await isFollowed(this.#input, isFrame, 4))) {
        this.#remark = await trailingRemark(this.#input);
        return false;
      }
      if (head.length === 0) return false;
      if (!isFrame(await this.#input.peek(4))) throw new Damage('the Zstandard header is damaged');
      this.#frame = new ZlibUnpacker('zstd', this.#input);
      this.#frames++;
      return true;
    }
  }

  async #skip(): Promise<void> {
    const header = await takeBytes(this.#input, 8, 'a frame');
    let left = new DataView(header.buffer).getUint32(4, true);
    while (left > 0) {
      const chunk = await this.#input.peek(1);
      if (chunk.length === 0) throw new Damage('the data ends within a frame');
      const length = Math.min(left, chunk.length);
      this.#input.consume(length);
      left -= length;
    }
  }

  remark(): Remark | undefined {
    return this.#remark;
  }

  close(): void {
    this.#frame?.close();
    this.#frame = null;
  }
}

function isFrame(head: Uint8Array): boolean {
  return head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd;
}

function isSkippable(head: Uint8Array): boolean {
  return (head[0]! & 0xf0) === 0x50 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18;
}
