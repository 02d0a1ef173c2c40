import { Worker } from 'node:worker_threads';

import { defineEvent } from '@heddle/kit/event';

const MIB = 1024 * 1024;

/** The growing part of WebAssembly memory; missing in Node's types. */
interface GrowingMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Memory: new (limits: { initial: number; maximum: number }) => GrowingMemory };
};

function growingMemory(): GrowingMemory {
  return new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
}

export default [
  defineEvent({
    name: 'memory.heap',
    run: () => {
      const kept: object[][] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
    },
  }),
  defineEvent({
    name: 'memory.buffers',
    run: () => {
      const kept: Buffer[] = [];
      for (;;) kept.push(Buffer.alloc(MIB, 1));
    },
  }),
  defineEvent({ name: 'memory.one-buffer', run: () => Buffer.alloc(2_000 * MIB, 1).length }),
  defineEvent({
    name: 'memory.webassembly',
    run: () => {
      const memory = growingMemory();
      for (;;) {
        memory.grow(16);
        new Uint8Array(memory.buffer).fill(1);
      }
    },
  }),
  defineEvent({
    name: 'memory.strings',
    run: () => {
      const kept: string[] = [];
      for (let index = 0; ; index += 1) kept.push(Buffer.alloc(MIB, 97 + (index % 26)).toString('latin1'));
    },
  }),
  defineEvent({
    name: 'memory.threads',
    run: () =>
      new Promise(() => {
        const source = 'const kept = []; for (;;) kept.push(new Array(10000).fill({}).map(() => ({})));';
        for (let count = 0; count < 4; count += 1) new Worker(source, { eval: true });
      }),
  }),
  defineEvent({
    name: 'memory.caught',
    run: () => {
      const kept: Buffer[] = [];
      try {
        for (;;) kept.push(Buffer.alloc(MIB, 1));
      } catch {
        return { survived: kept.length < 256 };
      }
    },
  }),
];
