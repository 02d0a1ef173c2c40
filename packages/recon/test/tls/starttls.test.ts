import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { TLSSocket, createSecureContext } from 'node:tls';
import { SMTPServer } from 'smtp-server';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { startTlsOfPort } from '../../src/tls/starttls.ts';
import { makeCertificate } from '@heddle/test-support/certificates';
import { serveTcp } from '@heddle/test-support/tls-servers';
import { probe } from '../support/tls/fixture.ts';

const HOST = 'mail.example.test';
const leaf = await makeCertificate({ name: HOST });
const roots = [leaf.pem];

/** A line-based server: a greeting, then an answer for each line, until TLS starts after `tls`. */
function speaking(
  greeting: string,
  answer: (line: string) => { say: string; tls?: boolean },
): (socket: Socket) => void {
  return (socket) => {
    let text = '';
    socket.write(greeting);
    const onData = (bytes: Buffer): void => {
      text += bytes.toString('latin1');
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const { say, tls } = answer(text.slice(0, end));
        text = text.slice(end + 2);
        socket.write(say);
        if (tls !== true) continue;
        socket.off('data', onData);
        const secure = new TLSSocket(socket, {
          isServer: true,
          secureContext: createSecureContext({ key: leaf.key, cert: leaf.pem }),
        });
        secure.on('error', () => undefined);
        return;
      }
    };
    socket.on('data', onData);
  };
}

test('SMTP: a real server', async (t) => {
  const server = new SMTPServer({
    key: leaf.key,
    cert: leaf.pem,
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const record = await probe({ port, host: HOST, starttls: 'smtp', roots, versions: true });
  assert.equal(record.error, undefined);
  assert.equal(record.starttls, 'smtp');
  assert.equal(record.subject_cn, HOST);
  assert.deepEqual(record.version_enum, ['tls13', 'tls12']);
});

test('IMAP and FTP, with multi-line answers', async (t) => {
  const imap = await serveTcp(
    t,
    speaking('* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n', (line) => {
      const tag = line.split(' ', 1)[0]!;
      return { say: `* CAPABILITY IMAP4rev1\r\n${tag} OK begin\r\n`, tls: true };
    }),
  );
  assert.equal((await probe({ port: imap.port, host: HOST, starttls: 'imap', roots })).subject_cn, HOST);
  const ftp = await serveTcp(
    t,
    speaking('220-Welcome\r\n to this server\r\n220-really\r\n220 ready\r\n', () => ({ say: '234 go\r\n', tls: true })),
  );
  const record = await probe({ port: ftp.port, host: HOST, starttls: 'ftp', roots });
  assert.equal(record.error, undefined);
  assert.equal(record.subject_cn, HOST);
  await Promise.all([imap.idle(), ftp.idle()]);
});

test('a service that refuses TLS is reported with its answer', async (t) => {
  const cases = [
    { greeting: '554 no service\r\n', starttls: 'smtp', error: 'starttls smtp: "554 no service"' },
    { greeting: 'SSH-2.0-x\r\n', starttls: 'smtp', error: 'starttls smtp: "SSH-2.0-x"' },
    { greeting: '* BYE go away\r\n', starttls: 'imap', error: 'starttls imap: "* BYE go away"' },
    { greeting: '220 ready\r\n', starttls: 'ftp', error: 'starttls ftp: "500 unknown"' },
    { greeting: `220-${'x'.repeat(2000)}`, starttls: 'smtp', error: 'starttls smtp: a line is too long' },
    { greeting: '220-x\r\n'.repeat(100), starttls: 'ftp', error: 'starttls ftp: too many lines' },
    { greeting: '* hello\r\n', starttls: 'imap', error: 'starttls imap: "* hello"' },
  ] as const;
  for (const { greeting, starttls, error } of cases) {
    const server = await serveTcp(
      t,
      speaking(greeting, () => ({ say: '500 unknown\r\n' })),
    );
    const record = await probe({ port: server.port, host: HOST, starttls });
    assert.equal(record.error, error);
    assert.equal(record.probe_status, false);
    assert.equal(record.starttls, starttls);
    await server.idle();
  }
});

test('a silent service, and one that disconnects', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  const gone = await serveTcp(t, (socket) => socket.end('220-bye\r\n'));
  assert.equal((await probe({ port: silent.port, starttls: 'smtp', timeoutMs: 200 })).error, 'timeout');
  assert.equal((await probe({ port: gone.port, starttls: 'smtp' })).error, 'starttls smtp: closed before TLS');
});

test('ports whose services start in plain text', () => {
  assert.deepEqual([25, 587, 143, 21, 443, 465, 993].map(startTlsOfPort), [
    'smtp',
    'smtp',
    'imap',
    'ftp',
    null,
    null,
    null,
  ]);
});
