import { createServer, type AddressInfo } from 'node:net';

import { bareHost } from '@heddle/base/net/address';
import { CommandFailure } from '@heddle/base/terminal/failure';

/** Returns the base URL of a listener for programs of this machine. */
export function localUrl(host: string, port: number): string {
  const bare = bareHost(host);
  const reachable = bare === '0.0.0.0' ? '127.0.0.1' : bare === '::' ? '::1' : bare;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/**
 * Resolves with a port that is free on `host`: `port` itself, or any if it is 0. Rejects with the error of listening.
 *
 * @param reusePort whether processes that share the port may listen on it
 */
export async function probePort(host: string, port: number, reusePort = false): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, reusePort }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

/** Explains why listening failed and what to do. */
export function listenFailure(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const remedies: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is in use by another program: stop it, or choose another port (PORT=${port + 1})`,
    EACCES: `Port ${port} needs privileges that this user lacks: choose a port above 1023 (PORT=8085)`,
    EADDRNOTAVAIL: `HOST=${host} is not an address of this machine: use 127.0.0.1 for loopback, 0.0.0.0 for every IPv4 address`,
    ENOTFOUND: `HOST=${host} is neither an address nor a known name: use 127.0.0.1 for loopback, 0.0.0.0 for every IPv4 address`,
  };
  const message = remedies[code ?? ''];
  return message === undefined ? error : new CommandFailure(message, { cause: error });
}

/**
 * Returns the port to listen on: the given one, or a free one for 0.
 * @throws CommandFailure if the port is not available
 */
export async function freePort(settings: { host: string; port: number; sharePort: boolean }): Promise<number> {
  const { host, port, sharePort } = settings;
  try {
    return await probePort(host, port, sharePort);
  } catch (error) {
    throw listenFailure(error, host, port);
  }
}
