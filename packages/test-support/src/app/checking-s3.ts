/** S3 that compares contents with their checksums, as Amazon's does and the server behind it does not. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { startFauxqs } from 'fauxqs';

export interface CheckingS3 {
  readonly url: string;
  /** The same store without the comparison. */
  readonly uncheckedUrl: string;
  /** Paths of accepted PUT requests. */
  readonly puts: string[];
  /** Answers the next `count` requests with 503. */
  fail(count: number): void;
  close(): Promise<void>;
}

const BAD_DIGEST =
  '<?xml version="1.0"?><Error><Code>BadDigest</Code><Message>The checksum did not match.</Message></Error>';

export async function startCheckingS3(): Promise<CheckingS3> {
  const store = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
  const puts: string[] = [];
  let failures = 0;
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(incoming);
    const { method, headers, url: path = '/' } = incoming;
    if (failures > 0) {
      failures -= 1;
      response.writeHead(503).end();
      return;
    }
    const checksum = headers['x-amz-checksum-sha256'];
    if (method === 'PUT' && checksum !== undefined) {
      if (createHash('sha256').update(body).digest('base64') !== checksum) {
        response.writeHead(400, { 'content-type': 'application/xml' }).end(BAD_DIGEST);
        return;
      }
      puts.push(path.split('?')[0]!);
    }
    const onward = request({ port: store.port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    onward.end(body);
  };
  const server = createServer((incoming, response) => void serve(incoming, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    uncheckedUrl: `http://127.0.0.1:${store.port}`,
    puts,
    fail: (count) => (failures = count),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await store.stop();
    },
  };
}
