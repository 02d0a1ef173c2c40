import { AF_INET, type Libc, openLibc, SOCK_NONBLOCK } from '../../../src/tcp/libc.ts';
import { MessageBatch } from '../../../src/tcp/syn/message-batch.ts';
import { RawSocket } from '../../../src/tcp/syn/raw-socket.ts';

/**
 * Answers SYN packets on behalf of unused addresses, by the last byte of the address:
 * 1: a correct answer; 2: one with a wrong acknowledgement; 3: a correct one three times, then a reset; 4: one from
 * another port; 5: a correct one without the ACK flag; 6: many guesses; 7: a correct one to the third attempt only.
 */
const AF_PACKET = 17;
const SOCK_DGRAM = 2;
const ETH_P_IP = 0x0800;
const IPPROTO_RAW = 255;

const SYN = 0x02;
const RST = 0x04;
const ACK = 0x10;

const access = await openLibc();
if (!access.available) throw new Error(access.missing);
const { libc } = access;
const swapped = ((ETH_P_IP & 0xff) << 8) | (ETH_P_IP >>> 8);
const heard = libc.socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, swapped);
if (heard < 0) throw new Error(`AF_PACKET: errno ${libc.errno()}`);
const incoming = new MessageBatch(libc, { count: 64, dataBytes: 128, nameBytes: 20 });
const outgoing = new MessageBatch(libc, { count: 1, dataBytes: 40, nameBytes: 16 });
const spoken = new RawSocket(libc, 4, IPPROTO_RAW);

interface Forgery {
  from: number;
  to: number;
  fromPort: number;
  toPort: number;
  acknowledged: number;
  flags: number;
}

function forge({ from, to, fromPort, toPort, acknowledged, flags }: Forgery): void {
  const { data, names } = outgoing;
  data.setUint32(0, 0x45000028, false);
  data.setUint32(4, 0, false);
  data.setUint32(8, 0x40060000, false);
  data.setUint32(12, from, false);
  data.setUint32(16, to, false);
  data.setUint16(20, fromPort, false);
  data.setUint16(22, toPort, false);
  data.setUint32(24, 12_345, false);
  data.setUint32(28, acknowledged >>> 0, false);
  data.setUint16(32, 0x5000 | flags, false);
  data.setUint16(34, 1000, false);
  data.setUint32(36, 0, false);
  names.setUint16(0, AF_INET, true);
  names.setUint32(4, to, false);
  spoken.send(outgoing, 0, 1);
}

const tries = new Map<number, number>();

function answer(from: number, to: number, fromPort: number, toPort: number, sequence: number): void {
  const right: Forgery = {
    from: to,
    to: from,
    fromPort: toPort,
    toPort: fromPort,
    acknowledged: sequence + 1,
    flags: SYN | ACK,
  };
  tries.set(to, (tries.get(to) ?? 0) + 1);
  switch (to & 0xff) {
    case 1: {
      forge(right);
      return;
    }
    case 2: {
      forge({ ...right, acknowledged: sequence + 2 });
      return;
    }
    case 3:
      for (let copy = 0; copy < 3; copy++) forge(right);
      {
        forge({ ...right, flags: RST | ACK });
        return;
      }
    case 4: {
      forge({ ...right, fromPort: toPort + 1 });
      return;
    }
    case 5: {
      forge({ ...right, flags: SYN });
      return;
    }
    case 6:
      for (let guess = 0; guess < 2000; guess++) forge({ ...right, acknowledged: Math.imul(guess, 0x9e3779b1) });
      return;
    case 7:
      if (tries.get(to) === 3) forge(right);
  }
}

function listen(bound: Libc): void {
  const count = bound.recvmmsg(heard, incoming.headers, incoming.count, 0x40, null);
  for (let index = 0; index < count; index++) {
    const at = incoming.dataBytes * index;
    const { data } = incoming;
    const segment = at + 20;
    if (data.getUint8(at + 9) !== 6 || data.getUint8(segment + 13) !== SYN) continue;
    const ports = [data.getUint16(segment, false), data.getUint16(segment + 2, false)] as const;
    answer(
      data.getUint32(at + 12, false),
      data.getUint32(at + 16, false),
      ...ports,
      data.getUint32(segment + 4, false),
    );
  }
}

setInterval(() => listen(libc), 1);
console.log('listening');
