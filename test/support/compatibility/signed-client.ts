/** A client of the executor's TCP protocol that was written from its description alone. */
import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

const VERSION = 'heddle-remote-v1';

function lp(...parts: (string | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}

function derive(key: Buffer, info: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), info, 32));
}

interface Signed {
  key_id: string;
  timestamp_ms: number;
  nonce: string;
  client: string;
  audience: string;
  method: string;
  mac: string;
}

/** @param secret the executor's own */
export function sign(secret: Buffer, method: string, payload: Buffer): Signed {
  const key = derive(derive(secret, lp(VERSION, 'client', 'stranger')), lp(VERSION, 'request'));
  const fields = {
    key_id: 'default',
    timestamp_ms: Date.now(),
    nonce: randomBytes(16).toString('base64url'),
    client: 'stranger',
    audience: 'heddle-executor',
    method,
  };
  const { key_id, timestamp_ms, nonce, client, audience } = fields;
  const bytes = lp(VERSION, 'request', key_id, String(timestamp_ms), nonce, client, audience, method, payload);
  return { ...fields, mac: createHmac('sha256', key).update(bytes).digest('base64url') };
}

/** One request on a connection of its own; the payload of its answer. */
export async function call(port: number, header: Signed, payload: Buffer): Promise<Record<string, unknown>> {
  const socket = connect(port, '127.0.0.1');
  const head = Buffer.from(JSON.stringify({ id: 1, ...header }));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(4 + head.length + payload.length);
  lengths.writeUInt32BE(head.length, 4);
  socket.write(Buffer.concat([lengths, head, payload]));
  let received = Buffer.alloc(0);
  while (received.length < 4 || received.length < 4 + received.readUInt32BE())
    received = Buffer.concat([received, ((await once(socket, 'data')) as [Buffer])[0]]);
  socket.destroy();
  return JSON.parse(received.subarray(8 + received.readUInt32BE(4)).toString()) as Record<string, unknown>;
}
