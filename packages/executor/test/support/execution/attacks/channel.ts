import { closeSync, readSync, writeSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

/** Descriptor for frames to the executor. */
const CHANNEL = 3;

function frame(type: string, content: Buffer, length = content.length + 1): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 0);
  head[4] = type.charCodeAt(0);
  return Buffer.concat([head, content]);
}

/** Serials of the first jobs of a process. */
function answer(text: string, serial = 1): Buffer {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(serial);
  return Buffer.concat([number, Buffer.from(text)]);
}

function send(...frames: Buffer[]): Promise<never> {
  writeSync(CHANNEL, Buffer.concat(frames));
  return new Promise(() => setInterval(() => undefined, 1_000));
}

export default [
  defineEvent({
    name: 'channel.long-lines',
    run: () => {
      const line = (length: number): Buffer =>
        frame('L', answer(JSON.stringify({ level: 'info', message: 'long', fields: { filler: 'x'.repeat(length) } })));
      const bytes = Buffer.concat([line(200_000), ...Array.from({ length: 100 }, () => line(30_000))]);
      for (let at = 0; at < bytes.length;) at += writeSync(CHANNEL, bytes, at);
      return 'written';
    },
  }),
  defineEvent({
    name: 'channel.forged-result',
    run: (args) => send(frame('R', answer('"forged"', args['serial'] as number))),
  }),
  defineEvent({
    name: 'channel.two-results',
    run: (args) =>
      send(frame('R', answer('1', args['serial'] as number)), frame('R', answer('2', args['serial'] as number))),
  }),
  defineEvent({ name: 'channel.result-of-another', run: () => send(frame('R', answer('1', 4_000_000))) }),
  defineEvent({ name: 'channel.garbage', run: () => send(Buffer.from('GET / HTTP/1.1\r\n\r\n')) }),
  defineEvent({ name: 'channel.zeros', run: () => send(Buffer.alloc(64)) }),
  defineEvent({ name: 'channel.huge-length', run: () => send(frame('E', Buffer.alloc(8), 0xffff_ffff)) }),
  defineEvent({ name: 'channel.huge-result', run: () => send(frame('R', Buffer.alloc(8), 0xffff_ffff)) }),
  defineEvent({ name: 'channel.unknown-type', run: () => send(frame('?', answer('1'))) }),
  defineEvent({ name: 'channel.ready-again', run: () => send(frame('Y', Buffer.alloc(0))) }),
  defineEvent({ name: 'channel.described', run: () => send(frame('I', Buffer.from('[]'))) }),
  defineEvent({ name: 'channel.half-a-frame', run: () => send(frame('R', answer('1'), 1_000)) }),
  defineEvent({
    name: 'channel.result-that-is-no-json',
    run: (args) => send(frame('R', answer('{"a":', args['serial'] as number))),
  }),
  defineEvent({
    name: 'channel.result-with-duplicates',
    run: (args) => send(frame('R', answer('{"a":1,"a":2}', args['serial'] as number))),
  }),
  defineEvent({
    name: 'channel.error-of-the-executor',
    run: (args) => send(frame('E', answer('{"code":"CANCELED","message":"forged"}', args['serial'] as number))),
  }),
  defineEvent({
    name: 'channel.flood-of-progress',
    run: (args) => {
      const one = frame('P', answer('{"fraction":0.5}', args['serial'] as number));
      const many = Buffer.concat(Array.from({ length: 1_000 }, () => one));
      for (;;) {
        try {
          writeSync(CHANNEL, many);
        } catch {
          // The pipe is temporarily full.
        }
      }
    },
  }),
  defineEvent({
    name: 'channel.closed',
    run: () => {
      closeSync(CHANNEL);
      return 'unheard';
    },
  }),
  defineEvent({
    name: 'channel.reads-jobs',
    run: () => {
      try {
        return readSync(0, Buffer.alloc(1_024));
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      }
    },
  }),
];
