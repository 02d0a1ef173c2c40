/** Servers that look like those of a company but do nothing. */
import type { Socket as UdpSocket } from 'node:dgram';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

import type { Pair } from './certificates.ts';
import { answerNames, listenForNames } from './name-server.ts';
import { ZONE, type CertificateName, type Role } from './plan.ts';
import type { Zone } from './zone.ts';

export interface Listener {
  /** Changes the banner or the certificate without closing. */
  change(role: Role, certificates: Certificates): void;
  close(): Promise<void>;
}

/** By name, and `authority`, which signed the others. */
export type Certificates = ReadonlyMap<CertificateName | 'authority', Pair>;

export interface Place {
  readonly address: string;
  readonly port: number;
  readonly zone: Zone;
  readonly certificates: Certificates;
}

/** Idle timeout of a connection, milliseconds. */
const IDLE_MS = 5000;

/** Listens; rejects with the error of the system on failure. */
export async function openListener(role: Role, place: Place): Promise<Listener> {
  const { address, port, zone } = place;
  const { server, change } = serverOf(role, place);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await listen(server, port, address);
  let names: UdpSocket | null = null;
  if (role.type === 'names') {
    names = await listenForNames(zone, ZONE, address, port).catch(async (error: unknown) => {
      await close(server, sockets);
      throw error;
    });
  }
  return {
    change,
    close: async () => {
      names?.close();
      await close(server, sockets);
    },
  };
}

interface Serving {
  server: Server;
  change: Listener['change'];
}

const STAYS = (): void => undefined;

function serverOf(role: Role, { zone, certificates }: Place): Serving {
  switch (role.type) {
    case 'banner': {
      let { line } = role;
      const server = createServer((socket) => {
        socket.write(`${line}\r\n`);
        // Any input is accepted.
        socket.once('data', () => socket.end());
      });
      return { server, change: (next) => (line = next.type === 'banner' ? next.line : line) };
    }
    case 'http': {
      const server = createHttpServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html', connection: 'close' });
        response.end(`<!doctype html><title>${role.title}</title>\n`);
      });
      return { server, change: STAYS };
    }
    case 'tls': {
      const server = createTlsServer(secured(role.certificate, certificates), (socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'));
      });
      return { server, change: (_next, current) => server.setSecureContext(secured(role.certificate, current)) };
    }
    case 'names':
      return { server: createServer((socket) => answerNames(zone, ZONE, socket)), change: STAYS };
  }
}

function secured(name: CertificateName, certificates: Certificates): TlsOptions {
  const { certificate, key } = certificates.get(name)!;
  const base = { key, handshakeTimeout: IDLE_MS };
  if (name === 'legacy') {
    // Outdated settings, which today's defaults reject.
    return { ...base, cert: certificate, minVersion: 'TLSv1', maxVersion: 'TLSv1.2', ciphers: 'DEFAULT:@SECLEVEL=0' };
  }
  const cert = name === 'git' ? certificate : `${certificate}\n${certificates.get('authority')!.certificate}`;
  return { ...base, cert, ALPNProtocols: ['h2', 'http/1.1'] };
}

function listen(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}
