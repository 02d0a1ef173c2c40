import { createServer, isIP, type AddressInfo } from 'node:net';

import { classifyAddress } from '../dispatch/address-ranges.ts';
import { CommandFailure } from './failure.ts';

/** Whether only programs of this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || (isIP(bare) !== 0 && classifyAddress(bare) === 'loopback');
}

/** The base URL of a listener, as programs of this machine reach it. */
export function localUrl(host: string, port: number): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const reachable = bare === '0.0.0.0' ? '127.0.0.1' : bare === '::' ? '::1' : bare;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Resolves with the port that is free on `host`: `port` itself, or any where it is 0. Throws what listening would. */
export async function probePort(host: string, port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

/** What a failure to listen means, and what helps. */
export function listenFailure(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const remedies: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is in use by another program: stop it, or choose another port (PORT=${port + 1})`,
    EACCES: `Port ${port} needs rights that this user lacks: choose one above 1023 (PORT=8085)`,
    EADDRNOTAVAIL: `HOST=${host} is no address of this machine: 127.0.0.1 is loopback, 0.0.0.0 every IPv4 address`,
    ENOTFOUND: `HOST=${host} is no address and no known name: 127.0.0.1 is loopback, 0.0.0.0 every IPv4 address`,
  };
  const message = remedies[code ?? ''];
  return message === undefined ? error : new CommandFailure(message, { cause: error });
}

/**
 * The port to listen on: the given one, or a free one for 0.
 *
 * @throws CommandFailure where it cannot be had
 */
export async function freePort({ host, port }: { host: string; port: number }): Promise<number> {
  try {
    return await probePort(host, port);
  } catch (error) {
    throw listenFailure(error, host, port);
  }
}
