import { connect } from 'node:net';
import { once } from 'node:events';
import { clientHello } from '../../../src/tls/client-hello.ts';
import { FIRST_OFFER } from '../../../src/tls/cipher-suites.ts';
import type { ProbeKeys } from '../../../src/tls/key-exchange.ts';
import { GROUP } from '../../../src/tls/protocol.ts';
import { seededRandom } from '@heddle/base/random';

/** A constant ClientHello, so that a recorded answer can be read again. */
export function fixedHello(keys: ProbeKeys, version: 'tls12' | 'tls13' = 'tls13'): Buffer {
  return clientHello({
    version,
    ciphers: FIRST_OFFER,
    sni: 'www.example.test',
    alpn: ['h2'],
    key_share: keys.share(GROUP.x25519),
    random: seededRandom(7).bytes(64),
  });
}

/** Records everything that a server sends after a hello, until it waits for the client. */
export async function recordFlight(port: number, hello: Buffer, isWhole: (bytes: Buffer) => boolean): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.write(hello);
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    if (isWhole(bytes)) break;
  }
  socket.destroy();
  return bytes;
}
