import { getSystemErrorName } from 'node:util';

import type { Clock } from '@heddle/base/clock';
import type { Endpoint } from '../../targets/port.ts';
import { addressWords, scopeId } from '../address-words.ts';
import {
  AF_INET,
  AF_INET6,
  EALREADY,
  ECONNREFUSED,
  EISCONN,
  EINPROGRESS,
  type Libc,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_SOCKET,
} from '../libc.ts';
import type { AttemptResult } from './attempt.ts';
import type { Connector, RunningAttempt } from './connector.ts';
import { outcomeOfError } from './outcome.ts';

const SO_LINGER = 13;
const POLLOUT = 4;
const IPV4_ADDRESS_BYTES = 16;
const IPV6_ADDRESS_BYTES = 28;

/** Closing resets the connection: nothing of it remains, and the local port is free. */
const LINGER_NOT = new Uint8Array(new Int32Array([1, 0]).buffer);

/** Refused sockets kept for reuse. */
const IDLE_MAX = 256;

/**
 * Connects by system calls: Node's sockets are streams with buffers and events, which a scan that only checks for an
 * answer does not need. Does not read banners.
 */
export class NativeConnector implements Connector {
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #address = new DataView(new ArrayBuffer(IPV6_ADDRESS_BYTES));
  readonly #addressBytes = new Uint8Array(this.#address.buffer);
  readonly #words = new Uint32Array(4);
  readonly #length = new Int32Array(1);
  readonly #lengthBytes = new Uint8Array(this.#length.buffer);
  /** `struct pollfd[]`, in the order of `#waiting`. */
  readonly #entries: Int16Array;
  readonly #entryFds: Int32Array;
  readonly #entryBytes: Uint8Array;
  readonly #waiting: NativeAttempt[] = [];
  #settled: NativeAttempt[] = [];
  readonly #idle: Record<4 | 6, number[]> = { 4: [], 6: [] };

  /** @param max maximum concurrent connections */
  constructor(libc: Libc, clock: Clock, max: number) {
    this.#libc = libc;
    this.#clock = clock;
    const memory = new ArrayBuffer(8 * max);
    this.#entries = new Int16Array(memory);
    this.#entryFds = new Int32Array(memory);
    this.#entryBytes = new Uint8Array(memory);
  }

  begin(endpoint: Endpoint, timeoutMs: number, done: (result: AttemptResult) => void): RunningAttempt {
    const startedAt = this.#clock.monotonic();
    const attempt = new NativeAttempt(this, endpoint, startedAt, startedAt + timeoutMs, done);
    attempt.fd = this.#socket(endpoint.family);
    if (attempt.fd < 0) {
      this.#fail(attempt, this.#libc.errno());
      return attempt;
    }
    const bytes = this.#writeAddress(endpoint);
    let errno = this.#call(attempt.fd, bytes);
    // On loopback the answer is there before the call returns; the next call reports it.
    if (errno === EINPROGRESS) errno = this.#call(attempt.fd, bytes);
    if (errno === EALREADY || errno === EINPROGRESS) this.#watch(attempt);
    else this.#conclude(attempt, errno);
    return attempt;
  }

  readonly poll = (): boolean => {
    const count = this.#waiting.length;
    if (count > 0 && this.#libc.poll(this.#entryBytes, count, 0) > 0) {
      for (let index = count - 1; index >= 0; index--) {
        if (this.#entries[4 * index + 3] !== 0) this.#checkResult(this.#waiting[index]!);
      }
    }
    if (this.#settled.length === 0) return false;
    const settled = this.#settled;
    this.#settled = [];
    for (const attempt of settled) attempt.notify();
    return true;
  };

  readonly close = (): void => {
    for (const fd of [...this.#idle[4], ...this.#idle[6]]) this.#libc.close(fd);
    this.#idle[4] = [];
    this.#idle[6] = [];
  };

  /** Closes what is left of an attempt. */
  release(attempt: NativeAttempt): void {
    this.#unwatch(attempt);
    if (attempt.fd < 0) return;
    if (attempt.connected) this.#libc.setsockopt(attempt.fd, SOL_SOCKET, SO_LINGER, LINGER_NOT, LINGER_NOT.length);
    this.#libc.close(attempt.fd);
    attempt.fd = -1;
  }

  #writeAddress({ ip, family, port }: Endpoint): number {
    const address = this.#address;
    addressWords(ip, family, this.#words, 0);
    address.setUint16(0, family === 4 ? AF_INET : AF_INET6, true);
    address.setUint16(2, port, false);
    if (family === 4) {
      address.setUint32(4, this.#words[0]!, false);
      return IPV4_ADDRESS_BYTES;
    }
    address.setUint32(4, 0, false);
    for (let word = 0; word < 4; word++) address.setUint32(8 + 4 * word, this.#words[word]!, false);
    address.setUint32(24, scopeId(ip), true);
    return IPV6_ADDRESS_BYTES;
  }

  /** Reuses a refused socket, which is as good as a new one at half the cost. */
  #socket(family: 4 | 6): number {
    const type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    return this.#idle[family].pop() ?? this.#libc.socket(family === 4 ? AF_INET : AF_INET6, type, 0);
  }

  /** Connects to the prepared address, or queries the result; returns zero if connected. */
  #call(fd: number, bytes: number): number {
    return this.#libc.connect(fd, this.#addressBytes, bytes) < 0 ? this.#libc.errno() : 0;
  }

  #watch(attempt: NativeAttempt): void {
    const index = this.#waiting.push(attempt) - 1;
    attempt.index = index;
    this.#entryFds[2 * index] = attempt.fd;
    this.#entries[4 * index + 2] = POLLOUT;
    this.#entries[4 * index + 3] = 0;
  }

  /** Removes an entry by moving the last one into its place. */
  #unwatch(attempt: NativeAttempt): void {
    const { index } = attempt;
    if (index < 0) return;
    attempt.index = -1;
    const last = this.#waiting.pop()!;
    if (last === attempt) return;
    this.#waiting[index] = last;
    last.index = index;
    this.#entryFds[2 * index] = last.fd;
    this.#entries[4 * index + 3] = this.#entries[4 * this.#waiting.length + 3]!;
  }

  #checkResult(attempt: NativeAttempt): void {
    const errno = this.#call(attempt.fd, this.#writeAddress(attempt.endpoint));
    if (errno !== EALREADY && errno !== EINPROGRESS) this.#conclude(attempt, errno);
  }

  #conclude(attempt: NativeAttempt, errno: number): void {
    if (errno === 0 || errno === EISCONN) {
      this.#connect(attempt);
      return;
    }
    const { family } = attempt.endpoint;
    this.#unwatch(attempt);
    // The system discards the failed connection when it reports the failure.
    if (errno === ECONNREFUSED && this.#idle[family].length < IDLE_MAX) {
      this.#idle[family].push(attempt.fd);
      attempt.fd = -1;
    }
    this.#fail(attempt, errno);
  }

  #connect(attempt: NativeAttempt): void {
    attempt.connected = true;
    const rtt_ms = this.#clock.monotonic() - attempt.startedAt;
    const closed = this.#isSelfConnected(attempt);
    this.#settle(attempt, {
      outcome: closed
        ? { type: 'answer', state: 'closed', reason: 'self-connect' }
        : { type: 'answer', state: 'open', reason: 'connected' },
      rtt_ms,
    });
  }

  /** Detects a self-connection: without a listener, the system may pick the target port as the local one. */
  #isSelfConnected({ fd, endpoint }: NativeAttempt): boolean {
    this.#length[0] = IPV6_ADDRESS_BYTES;
    if (this.#libc.getsockname(fd, this.#addressBytes, this.#lengthBytes) < 0) return false;
    const address = this.#address;
    if (address.getUint16(2, false) !== endpoint.port) return false;
    addressWords(endpoint.ip, endpoint.family, this.#words, 0);
    if (endpoint.family === 4) return address.getUint32(4, false) === this.#words[0];
    return this.#words.every((word, at) => address.getUint32(8 + 4 * at, false) === word);
  }

  #fail(attempt: NativeAttempt, errno: number): void {
    const outcome = outcomeOfError(getSystemErrorName(-errno));
    const rtt_ms = outcome.type === 'shortage' ? null : this.#clock.monotonic() - attempt.startedAt;
    this.#settle(attempt, { outcome, rtt_ms });
  }

  #settle(attempt: NativeAttempt, result: AttemptResult): void {
    this.release(attempt);
    attempt.result = result;
    this.#settled.push(attempt);
  }
}

class NativeAttempt implements RunningAttempt {
  readonly endpoint: Endpoint;
  readonly startedAt: number;
  readonly deadline: number;
  fd = -1;
  /** Index among the waiting attempts; -1 if not waiting. */
  index = -1;
  connected = false;
  result: AttemptResult | null = null;
  readonly #connector: NativeConnector;
  #done: ((result: AttemptResult) => void) | null;

  constructor(
    connector: NativeConnector,
    endpoint: Endpoint,
    startedAt: number,
    deadline: number,
    done: (result: AttemptResult) => void,
  ) {
    this.#connector = connector;
    this.endpoint = endpoint;
    this.startedAt = startedAt;
    this.deadline = deadline;
    this.#done = done;
  }

  expire(): void {
    // An attempt that is already settled is reported by the next poll.
    if (this.result !== null) return;
    this.#connector.release(this);
    this.result = { outcome: { type: 'silence', reason: 'no-response' }, rtt_ms: null };
    this.notify();
  }

  abandon(): void {
    this.#done = null;
    this.#connector.release(this);
  }

  notify(): void {
    const done = this.#done;
    this.#done = null;
    if (done !== null && this.result !== null) done(this.result);
  }
}
