import { connect } from 'node:net';
import type { Socket } from 'node:net';

import type { Clock } from '../../runtime/clock.ts';
import type { Endpoint } from '../targets/port.ts';
import { TlsFault } from './fault.ts';
import { NOT_PROBED, shortageOf } from './local-shortage.ts';
import { READ_LIMITS } from './protocol.ts';

/** What one side of a connection says, told apart from how it is carried. */
export interface Talk {
  /** Called when the connection stands; what is to be sent first. */
  begin(localAddress: string): Uint8Array | null;
  /** What is to be sent next, `done` where everything is known, null to wait. Throws TlsFault where nothing can come of it. */
  receive(bytes: Uint8Array): Uint8Array | 'done' | null;
  /** Why it is over where the other side closed. */
  closed(): TlsFault;
}

export interface Line {
  readonly clock: Clock;
  readonly timeout_ms: number;
  readonly signal: AbortSignal;
}

const READ_BYTES = 16 * 1024;

/**
 * One connection from its opening to what its talk wanted to know: resolves with null, or with why that did not come. The
 * time counts from the first packet; the connection is gone, without waiting states, when this resolves.
 *
 * @throws the signal's reason
 */
export function converse(endpoint: Endpoint, talk: Talk, line: Line): Promise<TlsFault | null> {
  return new Promise((resolve, reject) => {
    const { signal } = line;
    if (signal.aborted) {
      reject(reasonOf(signal));
      return;
    }
    let isConnected = false;
    let bytesLeft = READ_LIMITS.bytes_max;
    const socket = connect({
      host: endpoint.ip,
      port: endpoint.port,
      family: endpoint.family,
      noDelay: true,
      onread: { buffer: readBuffer, callback: (length, bytes) => received(bytes.subarray(0, length)) },
    });
    const finish = (fault: TlsFault | null): void => {
      leave();
      resolve(fault);
    };
    const fail = (error: unknown): void => {
      leave();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const onAbort = (): void => fail(reasonOf(signal));
    const leave = (): void => {
      stopTimer();
      signal.removeEventListener('abort', onAbort);
      socket.removeAllListeners();
      socket.on('error', ignore);
      hangUp(socket, isConnected);
    };
    const attempt = (step: () => Uint8Array | 'done' | null): void => {
      try {
        const answer = step();
        if (answer === 'done') finish(null);
        else if (answer !== null) socket.write(answer);
      } catch (error) {
        if (error instanceof TlsFault) finish(error);
        else fail(error);
      }
    };
    const received = (bytes: Uint8Array): boolean => {
      if (socket.destroyed) return false;
      bytesLeft -= bytes.length;
      if (bytesLeft < 0) finish(new TlsFault('malformed', `malformed: more than ${READ_LIMITS.bytes_max} bytes`));
      else attempt(() => talk.receive(bytes));
      return true;
    };
    const stopTimer = line.clock.after(line.timeout_ms, () => {
      finish(new TlsFault(isConnected ? 'silent' : 'unreachable', isConnected ? 'timeout' : 'timeout: no connection'));
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('connect', () => {
      isConnected = true;
      attempt(() => talk.begin(socket.localAddress ?? ''));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => finish(isConnected ? talk.closed() : unreachable(error)));
    socket.on('close', () => finish(talk.closed()));
    socket.on('end', () => finish(talk.closed()));
  });
}

/** Read by one callback at a time, which takes what it keeps out of it before it returns. */
const readBuffer = Buffer.alloc(READ_BYTES);

function ignore(): void {
  // What a connection that was given up still reports is of no interest.
}

function hangUp(socket: Socket, isConnected: boolean): void {
  // A reset leaves nothing behind on either side, where thousands of endings a second would use up all local ports.
  if (isConnected) socket.resetAndDestroy();
  else socket.destroy();
}

function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route',
  ENETUNREACH: 'no route',
  ETIMEDOUT: 'timeout: no connection',
};

function unreachable({ code, message }: NodeJS.ErrnoException): TlsFault {
  const shortage = shortageOf(code);
  if (shortage !== null) return new TlsFault('shortage', `${NOT_PROBED}${shortage}`);
  return new TlsFault('unreachable', UNREACHABLE[code ?? ''] ?? `no connection: ${code ?? message}`);
}
