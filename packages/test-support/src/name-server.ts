import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_AVAILABLE,
  TRUNCATED_RESPONSE,
} from 'dns-packet';

export const RCODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;

export interface Query {
  readonly packet: Packet;
  readonly bytes: Buffer;
  readonly name: string;
  readonly type: string;
  readonly via: 'udp' | 'tcp';
  /** How many queries of the same question came before. */
  readonly repeat: number;
}

/** One message of an answer; several are sent one after the other. */
export interface Reply {
  readonly bytes: Buffer;
  /** `elsewhere`: from another port than the one that was asked. */
  readonly from?: 'elsewhere';
  /** Over TCP: closes the connection after it. */
  readonly close?: boolean;
}

/** Nothing, or an empty list: the query goes unanswered. A promise holds the answer back for as long as the test wants. */
export type Respond = (query: Query) => readonly Reply[] | Promise<readonly Reply[]>;

export interface NameServer {
  /** `ip:port`, as resolvers are named. */
  readonly address: string;
  readonly queries: Query[];
  /** Connections that were ever made, and those that are open now. */
  readonly connections: { total: number; open: number };
  close(): Promise<void>;
}

/** A response to a query, built from its parts. */
export function reply(
  query: Query,
  { rcode = 'NOERROR', answers = [] }: { rcode?: keyof typeof RCODES; answers?: readonly Answer[] } = {},
): Reply {
  const flags = AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | RCODES[rcode];
  const { id } = query.packet;
  const questions: Question[] = query.packet.questions ?? [];
  return { bytes: encode({ type: 'response', id: id!, flags, questions, answers: [...answers] }) };
}

/** The same, cut to what says only that it did not fit. */
export function truncated(query: Query): Reply {
  const { id } = query.packet;
  const questions: Question[] = query.packet.questions ?? [];
  return { bytes: encode({ type: 'response', id: id!, flags: TRUNCATED_RESPONSE, questions }) };
}

/** A name server on a free port of loopback, UDP and TCP, that answers as the test says. */
export async function startNameServer(respond: Respond, ip: '127.0.0.1' | '::1' = '127.0.0.1'): Promise<NameServer> {
  const type = ip === '::1' ? 'udp6' : 'udp4';
  const queries: Query[] = [];
  const seen = new Map<string, number>();
  const connections = { total: 0, open: 0 };
  const open = new Set<Socket>();
  const read = (bytes: Buffer, via: 'udp' | 'tcp'): Query => {
    const packet = decode(bytes);
    const question = packet.questions![0]!;
    const key = `${question.type} ${question.name}`;
    const repeat = seen.get(key) ?? 0;
    seen.set(key, repeat + 1);
    const query = { packet, bytes, name: question.name, type: question.type, via, repeat };
    queries.push(query);
    return query;
  };

  const [tcp, udp, port] = await listen(ip, type);
  const elsewhere = createSocket(type);
  elsewhere.bind(0, ip);
  await once(elsewhere, 'listening');

  const answerUdp = async (bytes: Buffer, source: RemoteInfo): Promise<void> => {
    for (const { bytes: message, from } of await respond(read(bytes, 'udp'))) {
      const socket = from === 'elsewhere' ? elsewhere : udp;
      // A test that has ended does not wait for answers that were held back.
      if (!closed) socket.send(message, source.port, source.address);
    }
  };
  let closed = false;
  udp.on('message', (bytes, source) => void answerUdp(bytes, source));
  tcp.on('connection', (socket) => {
    connections.total += 1;
    connections.open += 1;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      connections.open -= 1;
      open.delete(socket);
    });
    serveStream(socket, (bytes) => respond(read(bytes, 'tcp')));
  });
  return {
    address: ip === '::1' ? `[::1]:${port}` : `${ip}:${port}`,
    queries,
    connections,
    async close() {
      closed = true;
      for (const socket of open) socket.destroy();
      const ended = once(tcp, 'close');
      udp.close();
      elsewhere.close();
      tcp.close();
      await ended;
    },
  };
}

/** The same port for both protocols; another one where UDP has it in use. */
async function listen(ip: string, type: 'udp4' | 'udp6'): Promise<[Server, UdpSocket, number]> {
  for (;;) {
    const tcp = createServer();
    tcp.listen(0, ip);
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket(type);
    try {
      udp.bind(port, ip);
      await once(udp, 'listening');
      return [tcp, udp, port];
    } catch {
      tcp.close();
      udp.close();
    }
  }
}

function serveStream(socket: Socket, respond: (bytes: Buffer) => ReturnType<Respond>): void {
  let buffered = Buffer.alloc(0);
  const answer = async (bytes: Buffer): Promise<void> => {
    for (const { bytes: message, close } of await respond(bytes)) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      if (socket.destroyed) return;
      socket.write(Buffer.concat([length, message]));
      if (close === true) socket.end();
    }
  };
  socket.on('data', (bytes: Buffer) => {
    buffered = Buffer.concat([buffered, bytes]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      const end = 2 + buffered.readUInt16BE(0);
      void answer(buffered.subarray(2, end));
      buffered = buffered.subarray(end);
    }
  });
}
