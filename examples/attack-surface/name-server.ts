/** A minimal name server: one zone, over UDP and TCP, following RFC 1035. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import type { Socket } from 'node:net';

import { lookUp, type Answer, type Found, type Zone } from './zone.ts';

const TYPES: Readonly<Record<string, number>> = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28 };
const TYPE_NAMES = new Map(Object.entries(TYPES).map(([name, number]) => [number, name]));
/** Zone of the names of addresses. */
const REVERSE = '127.in-addr.arpa';
const HEADER_BYTES = 12;
const UDP_BYTES_MAX = 512;
const QUERY_BYTES_MAX = 512;
const TEXT_BYTES_MAX = 255;
const TTL_SECS = 300;
const NAME_BYTES_MAX = 255;

const FLAG = { response: 0x8000, authoritative: 0x0400, truncated: 0x0200, recursion_desired: 0x0100 };
const CODE = { ok: 0, malformed: 1, no_such_name: 3, refused: 5 };

/** Listens on UDP; resolves once it does. */
export function listenForNames(zone: Zone, apex: string, address: string, port: number): Promise<UdpSocket> {
  const socket = createSocket('udp4');
  socket.on('message', (query: Buffer, { port: from, address: sender }: RemoteInfo) => {
    const answer = respond(zone, apex, query, UDP_BYTES_MAX);
    if (answer !== null) socket.send(answer, from, sender);
  });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, address, () => {
      socket.off('error', reject);
      // A resolver repeats queries without a response.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** Answers the queries of one connection, each preceded by its length. */
export function answerNames(zone: Zone, apex: string, socket: Socket): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    // No query is this large: it is another protocol.
    if (pending.length >= 2 && pending.readUInt16BE(0) > QUERY_BYTES_MAX) socket.destroy();
    while (!socket.destroyed && pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0);
      const answer = respond(zone, apex, pending.subarray(2, end), 0xffff);
      pending = pending.subarray(end);
      if (answer === null) socket.destroy();
      else socket.write(Buffer.concat([uint16(answer.length), answer]));
    }
  });
}

/** Returns the response to a message; null if it is not a query. */
export function respond(zone: Zone, apex: string, query: Buffer, bytesMax: number): Buffer | null {
  if (query.length < HEADER_BYTES || (query[2]! & 0x80) !== 0) return null;
  const id = query.readUInt16BE(0);
  const asked = readQuestion(query);
  const head = (flags: number, counts: readonly [number, number, number]): Buffer =>
    Buffer.concat(
      [id, FLAG.response | (query.readUInt16BE(2) & FLAG.recursion_desired) | flags, ...counts, 0].map(uint16),
    );
  if (asked === null) return head(CODE.malformed, [0, 0, 0]);
  const { name, type, bytes } = asked;
  const ownZone = [apex, REVERSE].find((each) => name === each || name.endsWith(`.${each}`));
  if (ownZone === undefined) return Buffer.concat([head(CODE.refused, [1, 0, 0]), bytes]);
  const authority = record(ownZone, 'SOA', startOfAuthority(apex));
  if (type === 'SOA' && name === ownZone) {
    return Buffer.concat([head(FLAG.authoritative, [1, 1, 0]), bytes, authority]);
  }
  const { exists, answers } = lookUp(zone, name, type);
  const records = answers.map(({ name: owner, answer }: Found) => record(owner, answer.type, dataOf(answer)));
  // A negative answer has the authority record, which limits its lifetime.
  const above = records.length === 0 ? [authority] : [];
  const flags = FLAG.authoritative | (exists ? CODE.ok : CODE.no_such_name);
  const whole = Buffer.concat([head(flags, [1, records.length, above.length]), bytes, ...records, ...above]);
  return whole.length <= bytesMax ? whole : Buffer.concat([head(flags | FLAG.truncated, [1, 0, 0]), bytes]);
}

/** Returns the only question of a query; null if it is malformed. */
function readQuestion(query: Buffer): { name: string; type: string; bytes: Buffer } | null {
  if (query.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  while (at < query.length && query[at] !== 0) {
    const length = query[at]!;
    // A question has no earlier name to point to.
    if (length > 63 || at + 1 + length >= query.length || at - HEADER_BYTES > NAME_BYTES_MAX) return null;
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  if (at + 5 > query.length) return null;
  const type = TYPE_NAMES.get(query.readUInt16BE(at + 1)) ?? '';
  return { name: labels.join('.').toLowerCase(), type, bytes: query.subarray(HEADER_BYTES, at + 5) };
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

function uint32(value: number): Buffer {
  return Buffer.from([value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff]);
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function record(owner: string, type: string, data: Buffer): Buffer {
  const internet = 1;
  return Buffer.concat([
    nameBytes(owner),
    uint16(TYPES[type]!),
    uint16(internet),
    uint32(TTL_SECS),
    uint16(data.length),
    data,
  ]);
}

function startOfAuthority(apex: string): Buffer {
  const times = [1, 3600, 600, 86_400, TTL_SECS];
  return Buffer.concat([nameBytes(`ns.${apex}`), nameBytes(`hostmaster.${apex}`), ...times.map(uint32)]);
}

function dataOf(answer: Answer): Buffer {
  switch (answer.type) {
    case 'A':
      return Buffer.from(answer.value.split('.').map(Number));
    case 'AAAA':
      // The only address of this kind is that of loopback.
      return Buffer.concat([Buffer.alloc(15), Buffer.from([1])]);
    case 'MX':
      return Buffer.concat([uint16(answer.preference), nameBytes(answer.exchange)]);
    case 'TXT':
      return Buffer.concat(textsOf(answer.value));
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return nameBytes(answer.value);
  }
}

function textsOf(value: string): Buffer[] {
  const whole = Buffer.from(value);
  const parts: Buffer[] = [];
  for (let at = 0; at < whole.length; at += TEXT_BYTES_MAX) {
    const part = whole.subarray(at, at + TEXT_BYTES_MAX);
    parts.push(Buffer.from([part.length]), part);
  }
  return parts;
}
