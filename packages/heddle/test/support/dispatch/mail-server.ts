import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';

import { smtpServer, type MailServer } from '../../../src/dispatch/mail.ts';
import { parseMailSender, parseSmtpAddress } from '../../../src/dispatch/smtp-address.ts';
import { systemClock } from '@heddle/base/clock';

const pem = (name: string): string => readFileSync(new URL(`tls/hooks.example.${name}.pem`, import.meta.url), 'utf8');
/** A self-signed certificate for hooks.example; its key protects only these tests. */
const CERT = pem('cert');

export interface ReceivedMail {
  from: string;
  to: string[];
  text: string;
  secure: boolean;
  user: string | undefined;
}

export interface TestMailServer {
  port: number;
  received: ReceivedMail[];
  /** Connections so far. */
  connections: () => number;
  close: () => Promise<void>;
}

export function answer(code: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode: code });
}

/** A real mail server on loopback that stores what it accepts. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<TestMailServer> {
  const received: ReceivedMail[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    cert: CERT,
    key: pem('key'),
    logger: false,
    onConnect: (_session, done) => {
      connections += 1;
      done();
    },
    onData: (stream, session: SMTPServerSession, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString(),
          secure: session.secure,
          user: session.user as string | undefined,
        });
        done();
      });
    },
    ...options,
  });
  // Client errors are not this server's failure.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    connections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** A server that sends this after each line; null: not even a greeting. */
export async function startSilentServer(lines: readonly (string | null)[]): Promise<TestMailServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    const left = [...lines];
    const say = (): void => {
      const line = left.shift() ?? null;
      if (line !== null) socket.write(`${line}\r\n`);
    };
    say();
    socket.on('data', say);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    received: [],
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export function mailServer(url: string, changes: { timeoutMs?: number; connectionsMax?: number } = {}): MailServer {
  const address = parseSmtpAddress(url);
  const sender = parseMailSender('Heddle <heddle@example.com>');
  if (address === null || sender === null) throw new Error(`no mail server: ${url}`);
  return smtpServer({
    address,
    sender,
    connectionsMax: 4,
    timeoutMs: 5_000,
    clock: systemClock,
    tls: { ca: CERT, servername: 'hooks.example' },
    ...changes,
  });
}
