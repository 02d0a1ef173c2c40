import { once } from 'node:events';
import { connect } from 'node:net';

import type { ClientTransport } from '../../../src/client/port.ts';
import { openTcpTransport } from '../../../src/tcp/client.ts';
import { openTcpListener } from '../../../src/tcp/server.ts';
import { openXmlRpcTransport } from '../../../src/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../../src/xmlrpc/server.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { StandInManager, submit } from '../transports/stand-in-manager.ts';

/** Real listeners that receive raw bytes; after each case another client must be served. */
export interface Wires extends AsyncDisposable {
  tcp(bytes: Buffer): Promise<void>;
  xmlrpc(document: Buffer): Promise<void>;
}

export async function openWires(): Promise<Wires> {
  const manager = new StandInManager();
  manager.remembers = false;
  const given = { manager, host: '127.0.0.1', port: 0, tls: null, clock: systemClock, log: silentLogger };
  const tcp = await openTcpListener(given);
  const xmlrpc = await openXmlRpcListener(given);
  const endpoint = (port: number) => ({ host: '127.0.0.1', port, tls: false });
  const tcpClient = openTcpTransport({ protocol: 'tcp', ...endpoint(tcp.address.port) }, null, { clock: systemClock });
  const xmlrpcClient = openXmlRpcTransport({ protocol: 'xmlrpc', ...endpoint(xmlrpc.address.port) }, null, {
    clock: systemClock,
  });
  return {
    async tcp(bytes) {
      await send(tcp.address.port, bytes);
      await assertServed(tcpClient);
    },
    async xmlrpc(document) {
      const head = `POST /RPC2 HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: text/xml\r\ncontent-length: ${document.length}\r\n\r\n`;
      await send(xmlrpc.address.port, Buffer.concat([Buffer.from(head), document]));
      await assertServed(xmlrpcClient);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([tcpClient.close(), xmlrpcClient.close()]);
      await Promise.all([tcp.close(0), xmlrpc.close(0)]);
    },
  };
}

/** Sends everything, ends the connection, and reads the response. */
async function send(port: number, bytes: Buffer): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  socket.resume().end(bytes);
  await once(socket, 'close');
}

async function assertServed(client: ClientTransport): Promise<void> {
  await client.call(submit('Echo', {}), { signal: new AbortController().signal, token: null, traceparent: null });
}
