import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { createSocket } from 'node:dgram';

import { defineEvent } from '@heddle/kit/event';

function connected(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 300 });
    socket.once('connect', () => resolve('connected'));
    socket.once('timeout', () => resolve('timeout'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
  });
}

export default [
  defineEvent({
    name: 'network.loopback',
    run: async (args) => ({ became: await connected('127.0.0.1', args['port'] as number) }),
  }),
  defineEvent({
    name: 'network.outside',
    run: async () => ({
      metadata: await connected('169.254.169.254', 80),
      documentation: await connected('192.0.2.1', 80),
      name: await lookup('localhost.invalid').then(
        () => 'found',
        () => 'not found',
      ),
    }),
  }),
  defineEvent({
    name: 'network.datagram',
    run: () =>
      new Promise((resolve) => {
        try {
          const socket = createSocket('udp4');
          socket.once('error', (error: NodeJS.ErrnoException) => resolve({ became: error.code }));
          socket.send('x', 9, '192.0.2.1', (error) => {
            socket.close();
            resolve({ became: error === null ? 'sent' : (error as NodeJS.ErrnoException).code });
          });
        } catch (error) {
          resolve({ became: (error as NodeJS.ErrnoException).code });
        }
      }),
  }),
];
