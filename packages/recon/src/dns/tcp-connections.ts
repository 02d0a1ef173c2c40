import { connect, type Socket } from 'node:net';

import { writeId } from './encode.ts';
import type { ResolverAddress } from './resolver.ts';

const CONNECTIONS_PER_RESOLVER = 2;
/** Concurrent queries per connection. */
const PIPELINE_MAX = 128;
const LENGTH_BYTES = 2;
/** Unexpected messages after which the connection is closed. */
const STRAYS_MAX = 1024;

export interface TcpEvents {
  /** A complete message whose id matches the question of a slot. */
  onMessage(slot: number, resolver: number, message: Buffer): void;
  /** The connection ended without the answer. `progress`: others were answered, so a new connection may help. */
  onLost(slot: number, resolver: number, progress: boolean): void;
}

interface Question {
  slot: number;
  message: Buffer;
}

/** Connections to resolvers for answers that do not fit a packet; reused until the end. */
export class TcpConnections {
  readonly #events: TcpEvents;
  readonly #resolvers = new Map<number, { connections: Set<Connection>; line: Question[] }>();

  constructor(events: TcpEvents) {
    this.#events = events;
  }

  ask(slot: number, query: Buffer, index: number, address: ResolverAddress): void {
    let resolver = this.#resolvers.get(index);
    if (resolver === undefined) this.#resolvers.set(index, (resolver = { connections: new Set(), line: [] }));
    resolver.line.push({ slot, message: Buffer.from(query) });
    this.#advance(index, address);
  }

  /** Drops a question that timed out, and the connection if it answered nothing else either. */
  expire(slot: number, index: number): void {
    const resolver = this.#resolvers.get(index);
    if (resolver === undefined) return;
    const at = resolver.line.findIndex((question) => question.slot === slot);
    if (at !== -1) resolver.line.splice(at, 1);
    for (const connection of resolver.connections) connection.expire(slot);
  }

  close(): void {
    const all = [...this.#resolvers.values()].flatMap(({ connections }) => [...connections]);
    this.#resolvers.clear();
    for (const connection of all) connection.destroy();
  }

  #advance(index: number, address: ResolverAddress): void {
    const resolver = this.#resolvers.get(index);
    if (resolver === undefined) return;
    while (resolver.line.length > 0) {
      const free = [...resolver.connections].filter(({ open }) => open < PIPELINE_MAX);
      let connection = free.sort((one, other) => one.open - other.open)[0];
      const mayAdd = resolver.connections.size < CONNECTIONS_PER_RESOLVER;
      if (connection === undefined || (connection.open > 0 && mayAdd)) {
        if (!mayAdd) return;
        connection = this.#connect(index, address);
        resolver.connections.add(connection);
      }
      const { slot, message } = resolver.line.shift()!;
      connection.ask(slot, message);
    }
  }

  #connect(index: number, address: ResolverAddress): Connection {
    const connection: Connection = new Connection(address, {
      onMessage: (slot, message) => {
        this.#events.onMessage(slot, index, message);
        this.#advance(index, address);
      },
      onEnd: (slots, progress) => {
        this.#resolvers.get(index)?.connections.delete(connection);
        for (const slot of slots) this.#events.onLost(slot, index, progress);
        this.#advance(index, address);
      },
    });
    return connection;
  }
}

interface ConnectionEvents {
  onMessage(slot: number, message: Buffer): void;
  onEnd(slots: readonly number[], progress: boolean): void;
}

class Connection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  /** Slots by the id of their question on this connection. */
  readonly #open = new Map<number, number>();
  /** Pieces of an incomplete message, and their total size. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  /** Minimum bytes for a complete message. */
  #neededBytes = LENGTH_BYTES;
  #answered = 0;
  /** Number of answers when a question last timed out. */
  #answeredBefore = 0;
  #strays = 0;
  #nextId = 0;

  constructor({ ip, port }: ResolverAddress, events: ConnectionEvents) {
    this.#events = events;
    this.#socket = connect({ host: ip, port, noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    // The close event that follows reports the error.
    this.#socket.on('error', () => undefined);
    this.#socket.on('end', () => this.#socket.destroy());
    this.#socket.on('close', () => {
      const slots = [...this.#open.values()];
      this.#open.clear();
      this.#events.onEnd(slots, this.#answered > 0);
    });
  }

  get open(): number {
    return this.#open.size;
  }

  ask(slot: number, message: Buffer): void {
    while (this.#open.has(this.#nextId)) this.#nextId = (this.#nextId + 1) & 0xffff;
    const id = this.#nextId;
    this.#nextId = (id + 1) & 0xffff;
    this.#open.set(id, slot);
    writeId(message, 0, id);
    const framed = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
    framed.writeUInt16BE(message.length, 0);
    message.copy(framed, LENGTH_BYTES);
    this.#socket.write(framed);
  }

  expire(slot: number): void {
    for (const [id, owner] of this.#open) {
      if (owner !== slot) continue;
      this.#open.delete(id);
      if (this.#answered === this.#answeredBefore) this.#socket.destroy();
      this.#answeredBefore = this.#answered;
    }
  }

  destroy(): void {
    this.#open.clear();
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  /** Buffers at most one message of 65,535 bytes, plus what arrived with its end. */
  #receive(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    if (this.#pieceBytes < this.#neededBytes) return;
    let rest = this.#pieces.length === 1 ? bytes : Buffer.concat(this.#pieces);
    this.#neededBytes = LENGTH_BYTES;
    while (rest.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + rest.readUInt16BE(0);
      if (rest.length < end) {
        this.#neededBytes = end;
        break;
      }
      this.#deliver(rest.subarray(LENGTH_BYTES, end));
      rest = rest.subarray(end);
    }
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#pieceBytes = rest.length;
  }

  #deliver(message: Buffer): void {
    const id = message.length < LENGTH_BYTES ? -1 : message.readUInt16BE(0);
    const slot = this.#open.get(id);
    if (slot === undefined) {
      if (++this.#strays > STRAYS_MAX) this.#socket.destroy();
      return;
    }
    this.#open.delete(id);
    this.#answered += 1;
    this.#events.onMessage(slot, message);
  }
}
