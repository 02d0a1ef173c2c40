import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';

import type { SMTPServerOptions } from 'smtp-server';

import type { NoticeAction } from '@heddle/core/domain/notification/notification';
import { deliverOnce } from '../../src/dispatch/deliver.ts';
import type { MailServer } from '../../src/dispatch/mail.ts';
import { parseMailSender, parseSmtpAddress } from '../../src/dispatch/smtp-address.ts';
import type { Delivery, DeliveryResult } from '@heddle/core/engine/port';
import {
  answer,
  mailServer,
  startMailServer,
  startSilentServer,
  type TestMailServer,
} from '../support/dispatch/mail-server.ts';
import { delivery, dependencies, DELIVERY_ID, TASK_ID } from '../support/dispatch/targets.ts';

const opened: { close: () => Promise<void> }[] = [];
const track = <T extends { close: () => Promise<void> }>(one: T): T => (opened.push(one), one);
after(async () => {
  for (const one of opened.reverse()) await one.close();
});

const started = async (options?: Parameters<typeof startMailServer>[0]): Promise<TestMailServer> =>
  track(await startMailServer(options));

function mail(changes: Partial<Extract<NoticeAction, { channel: 'email' }>['mail']> = {}): Delivery {
  const message = { recipient: 'ops@example.com', to: ['ops@example.com'], subject: 'done', text: 'All is well.' };
  const action: NoticeAction = { trigger: 'notify', channel: 'email', mail: { ...message, ...changes } };
  return { ...delivery('http://unused.example/'), trigger: 'notify', origin: 'smtp:', action };
}

async function send(server: MailServer | null, one = mail(), changes = {}): Promise<DeliveryResult> {
  const deps = track(dependencies({ mail: server === null ? null : track(server), ...changes }));
  return deliverOnce(one, deps);
}

const errorOf = (result: DeliveryResult): string => (result.outcome === 'delivered' ? '' : result.error);

describe('a notification by mail', () => {
  it('arrives with its sender and subject', async () => {
    const server = await started();
    const to = ['ops@example.com', 'dev@example.com'];
    const result = await send(mailServer(`smtp://127.0.0.1:${server.port}`), mail({ to, text: 'grün\n.\nend' }));
    assert.deepEqual(result, { id: DELIVERY_ID, tries: 1, outcome: 'delivered', status: 250 });
    const [received] = server.received;
    assert.deepEqual([received!.from, received!.to], ['heddle@example.com', ['ops@example.com']]);
    assert.match(received!.text, /^From: Heddle <heddle@example\.com>\r$/m);
    assert.match(received!.text, /^To: ops@example\.com, dev@example\.com\r$/m);
    assert.match(received!.text, /^Auto-Submitted: auto-generated\r$/m);
    assert.match(received!.text, new RegExp(`^Message-ID: <${DELIVERY_ID}@example\\.com>\r$`, 'm'));
    assert.match(received!.text, new RegExp(`^X-Heddle-Task-Id: ${TASK_ID}\r$`, 'mi'));
    assert.match(received!.text, /gr=C3=BCn|Z3LDvG4/);
  });

  it('is counted under its own trigger', async () => {
    const server = await started();
    const deps = track(dependencies({ mail: track(mailServer(`smtp://127.0.0.1:${server.port}`)) }));
    await deliverOnce(mail(), deps);
    const metrics = await deps.metrics.registry.metrics();
    assert.match(metrics, /webhook_executions_total\{trigger="notify",outcome="success"\} 1/);
  });

  it('cannot inject headers or recipients', async () => {
    const server = await started();
    const subject = 'a\r\nBcc: eve@example.com\r\n\r\nbody \u2028 b\u0000';
    const result = await send(mailServer(`smtp://127.0.0.1:${server.port}`), mail({ subject }));
    assert.equal(result.outcome, 'delivered');
    const [head] = server.received[0]!.text.split('\r\n\r\n');
    assert.doesNotMatch(head!, /^bcc:/im);
    assert.match(head!, /^Subject: a Bcc: eve@example\.com body b\r$/m);
    assert.deepEqual(server.received[0]!.to, ['ops@example.com']);
  });

  it('reuses a connection', async () => {
    const server = await started();
    const own = mailServer(`smtp://127.0.0.1:${server.port}`, { connectionsMax: 1 });
    const deps = track(dependencies({ mail: track(own) }));
    for (let n = 0; n < 5; n += 1) assert.equal((await deliverOnce(mail(), deps)).outcome, 'delivered');
    assert.equal(server.received.length, 5);
    assert.equal(server.connections(), 1);
  });

  it('survives a connection that the server has dropped meanwhile', async () => {
    const closed = Promise.withResolvers<undefined>();
    const server = await started({ socketTimeout: 500, onClose: () => closed.resolve(undefined) });
    const deps = track(dependencies({ mail: track(mailServer(`smtp://127.0.0.1:${server.port}`)) }));
    assert.equal((await deliverOnce(mail(), deps)).outcome, 'delivered');
    await closed.promise;
    assert.equal((await deliverOnce(mail(), deps)).outcome, 'delivered');
    assert.equal(server.connections(), 2);
  });
});

describe('TLS and login', () => {
  const login: SMTPServerOptions = {
    authOptional: false,
    disabledCommands: [],
    onAuth: ({ username, password }, _session, done) => {
      if (username === 'me' && password === 'p w:d/@') done(null, { user: 'me' });
      else done(answer(535, `5.7.8 no such login ${password ?? ''}`));
    },
  };

  it('logs in over STARTTLS, with a password of any characters', async () => {
    const server = await started(login);
    const result = await send(mailServer(`smtp://me:p%20w%3Ad%2F%40@127.0.0.1:${server.port}?starttls=required`));
    assert.equal(result.outcome, 'delivered', errorOf(result));
    assert.deepEqual([server.received[0]!.secure, server.received[0]!.user], [true, 'me']);
  });

  it('uses TLS from the first byte', async () => {
    const server = await started({ ...login, secure: true });
    const result = await send(mailServer(`smtps://me:p%20w%3Ad%2F%40@127.0.0.1:${server.port}`));
    assert.equal(result.outcome, 'delivered', errorOf(result));
  });

  it('sends nothing unencrypted if STARTTLS is required but not offered', async () => {
    const server = await started();
    const result = await send(mailServer(`smtp://127.0.0.1:${server.port}?starttls=required`));
    assert.equal(result.outcome, 'retry');
    assert.deepEqual(server.received, []);
  });

  it('trusts only certificates that Node trusts', async () => {
    const server = await started({ disabledCommands: [] });
    const address = parseSmtpAddress(`smtp://127.0.0.1:${server.port}`)!;
    const { smtpServer } = await import('../../src/dispatch/mail.ts');
    const { systemClock } = await import('@heddle/base/clock');
    const sender = { name: '', address: 'a@example.com' };
    const plain = smtpServer({ address, sender, connectionsMax: 1, timeoutMs: 5_000, clock: systemClock });
    const result = await send(plain);
    assert.equal(result.outcome, 'retry');
    assert.deepEqual(server.received, []);
  });

  it('a failed login is retried, and its password is in no error', async () => {
    const server = await started(login);
    const result = await send(mailServer(`smtp://me:hunter2secret@127.0.0.1:${server.port}?starttls=required`));
    assert.equal(result.outcome, 'retry');
    assert.match(errorOf(result), /535/);
    assert.doesNotMatch(errorOf(result), /hunter2secret/);
  });
});

describe('responses of a mail server', () => {
  const cases = [
    [
      'a recipient that does not exist',
      550,
      { onRcptTo: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(answer(550, 'no such user')) },
      'dead',
    ],
    [
      'greylisting',
      450,
      { onRcptTo: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(answer(450, 'come back later')) },
      'retry',
    ],
    [
      'a sender that may not send',
      553,
      { onMailFrom: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(answer(553, 'not you')) },
      'dead',
    ],
    [
      'a full disk',
      452,
      { onMailFrom: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(answer(452, 'no space')) },
      'retry',
    ],
    [
      'a message that looks like spam',
      554,
      {
        onData: (stream: NodeJS.ReadableStream, _s: unknown, done: (e: Error) => void) => {
          stream.resume();
          stream.on('end', () => done(answer(554, 'spam')));
        },
      },
      'dead',
    ],
    [
      'a message that cannot be taken now',
      451,
      {
        onData: (stream: NodeJS.ReadableStream, _s: unknown, done: (e: Error) => void) => {
          stream.resume();
          stream.on('end', () => done(answer(451, 'local error')));
        },
      },
      'retry',
    ],
    [
      'a server that is closed for now',
      421,
      { onConnect: (_s: unknown, done: (e: Error) => void) => done(answer(421, 'too busy')) },
      'retry',
    ],
  ] as const;
  for (const [name, status, options, outcome] of cases) {
    it(`${name}: ${status}, ${outcome}`, async () => {
      const server = await started(options);
      const result = await send(mailServer(`smtp://127.0.0.1:${server.port}`));
      assert.equal(result.outcome, outcome, errorOf(result));
      assert.equal(result.status, status);
      assert.match(result.error, new RegExp(`the mail server 127\\.0\\.0\\.1:${server.port}: ${status}`));
    });
  }

  it('no server listens: retry', async () => {
    const server = await startMailServer();
    await server.close();
    const result = await send(mailServer(`smtp://127.0.0.1:${server.port}`));
    assert.equal(result.outcome, 'retry');
    assert.match(errorOf(result), /ECONNREFUSED/);
  });

  it('no greeting, or no response after the envelope: retry, within the timeout of a try', async () => {
    for (const lines of [[null], ['220 hello', '250 hello', '250 ok', null]]) {
      const server = track(await startSilentServer(lines));
      const own = mailServer(`smtp://127.0.0.1:${server.port}?starttls=off`, { timeoutMs: 30_000 });
      const result = await send(own, mail(), { tryLimitMs: 300 });
      assert.equal(result.outcome, 'retry');
      assert.match(errorOf(result), /no response within 1 s/);
    }
  });

  it('garbage: retry', async () => {
    const server = track(await startSilentServer(['HTTP/1.1 200 OK']));
    const result = await send(mailServer(`smtp://127.0.0.1:${server.port}`));
    assert.equal(result.outcome, 'retry');
  });

  it('a stop of this process aborts the try at once, and it is due again', async () => {
    const server = track(await startSilentServer([null]));
    const deps = track(dependencies({ mail: track(mailServer(`smtp://127.0.0.1:${server.port}`)) }));
    const stop = new AbortController();
    const sent = deliverOnce(mail(), deps, stop.signal);
    while (server.connections() === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    const result = await sent;
    assert.deepEqual(result, {
      id: DELIVERY_ID,
      tries: 1,
      outcome: 'retry',
      status: null,
      error: 'the server stopped during this try',
      delay_ms: 0,
    });
  });

  it('a process without a mail server keeps the mail, and reports what is missing', async () => {
    const result = await send(null);
    assert.equal(result.outcome, 'retry');
    assert.match(errorOf(result), /set HEDDLE_SMTP_URL/);
    const last = await send(null, { ...mail(), tries: 20 });
    assert.equal(last.outcome, 'dead');
  });
});

describe('HEDDLE_SMTP_URL and HEDDLE_SMTP_FROM', () => {
  it('are parsed, with the matching port and encryption', () => {
    const read = (text: string) => {
      const address = parseSmtpAddress(text);
      return address === null ? null : [address.host, address.port, address.secure, address.starttls, address.user];
    };
    assert.deepEqual(read('smtp://mail.example.com'), ['mail.example.com', 587, false, 'optional', null]);
    assert.deepEqual(read('smtp://u:p@mail.example.com:25'), ['mail.example.com', 25, false, 'required', 'u']);
    assert.deepEqual(read('smtp://u:p@localhost:25'), ['localhost', 25, false, 'optional', 'u']);
    assert.deepEqual(read('smtp://u:p@mail.example.com?starttls=off'), ['mail.example.com', 587, false, 'off', 'u']);
    assert.deepEqual(read('smtps://u%40x:p@mail.example.com/'), ['mail.example.com', 465, true, 'required', 'u@x']);
    assert.deepEqual(read('smtp://[::1]:2525'), ['::1', 2525, false, 'optional', null]);
    for (const bad of [
      'mail.example.com',
      'http://x',
      'smtp://',
      'smtp://h/path',
      'smtp://h?tls=1',
      'smtps://h?starttls=off',
      'smtp://h?starttls=no',
      'smtp://:p@h',
      'smtp://%zz@h',
    ]) {
      assert.equal(parseSmtpAddress(bad), null, bad);
    }
    assert.deepEqual(parseMailSender('Heddle at work <h@example.com>'), {
      name: 'Heddle at work',
      address: 'h@example.com',
    });
    assert.deepEqual(parseMailSender('"H, eddle" <h@example.com>'), { name: 'H, eddle', address: 'h@example.com' });
    assert.deepEqual(parseMailSender(' h@example.com '), { name: '', address: 'h@example.com' });
    for (const bad of ['', 'h', 'A <b>', 'A\n<h@example.com>', '<h@example.com', 'h@example.com, i@example.com']) {
      assert.equal(parseMailSender(bad), null, bad);
    }
  });
});
