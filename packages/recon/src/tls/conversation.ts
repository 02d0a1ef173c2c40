import { connect } from 'node:net';
import type { Socket } from 'node:net';

import type { Clock } from '@heddle/base/clock';
import { abortErrorOf, errorOf } from '@heddle/base/thrown';
import type { Endpoint } from '../targets/port.ts';
import { TlsFault } from './fault.ts';
import { NOT_PROBED, shortageOf } from './local-shortage.ts';
import { READ_LIMITS } from './protocol.ts';

/** The protocol of one side of a connection, independent of its transport. */
export interface Dialog {
  /** Called once connected; returns the first bytes to send. */
  begin(localAddress: string): Uint8Array | null;
  /** Returns the next bytes to send, `done` at the end, or null to wait. Throws TlsFault if the conversation fails. */
  receive(bytes: Uint8Array): Uint8Array | 'done' | null;
  /** Returns the fault if the peer closes the connection. */
  closed(): TlsFault;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const READ_BYTES = 16 * 1024;

/**
 * Runs one connection until its talk is done: resolves with null, or with the fault. The time counts from the first
 * packet; the connection is gone, without lingering states, when this resolves.
 *
 * @throws the signal's reason
 */
export function converse(endpoint: Endpoint, dialog: Dialog, line: ConnectionOptions): Promise<TlsFault | null> {
  return new Promise((resolve, reject) => {
    const { signal } = line;
    if (signal.aborted) {
      reject(abortErrorOf(signal));
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
      reject(errorOf(error));
    };
    const onAbort = (): void => fail(abortErrorOf(signal));
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
      else attempt(() => dialog.receive(bytes));
      return true;
    };
    const stopTimer = line.clock.after(line.timeoutMs, () => {
      finish(new TlsFault(isConnected ? 'silent' : 'unreachable', isConnected ? 'timeout' : 'timeout: no connection'));
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('connect', () => {
      isConnected = true;
      attempt(() => dialog.begin(socket.localAddress ?? ''));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => finish(isConnected ? dialog.closed() : unreachable(error)));
    socket.on('close', () => finish(dialog.closed()));
    socket.on('end', () => finish(dialog.closed()));
  });
}

/** Shared buffer: each callback copies what it keeps before it returns. */
const readBuffer = Buffer.alloc(READ_BYTES);

function ignore(): void {
  // Errors of an abandoned connection are irrelevant.
}

function hangUp(socket: Socket, isConnected: boolean): void {
  // A reset leaves no state on either side; otherwise thousands of closes per second would exhaust the local ports.
  if (isConnected) socket.resetAndDestroy();
  else socket.destroy();
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
