import type { ConnectionOptions } from 'node:tls';

import type { Transporter } from 'nodemailer';

import type { MailMessage } from '@heddle/core/domain/notification/notification';
import { oneLine } from '@heddle/core/domain/notification/one-line';
import type { Clock } from '@heddle/base/clock';
import type { MailSender, SmtpAddress } from './smtp-address.ts';

export interface OutgoingMail {
  message: MailMessage;
  /** Identifies the mail across its tries, so that a mailbox can recognize a repeat. */
  id: string;
  headers: Readonly<Record<string, string>>;
}

/**
 * The outcome of one try. `refused`: the server will never accept this mail; `failed`: it may later; `stopped`: this
 * process aborted it.
 */
export type MailAnswer =
  | { answer: 'accepted'; status: number }
  | { answer: 'refused' | 'failed' | 'stopped'; status: number | null; error: string };

/** Sends mail through one server. */
export interface MailServer {
  /** Name of the server in errors. */
  readonly name: string;
  /** Strings that must not appear in errors. */
  readonly secrets: readonly string[];
  /** Performs one try within `limitMs`; never throws for a failure of the server. */
  send(mail: OutgoingMail, limitMs: number, stop?: AbortSignal): Promise<MailAnswer>;
  /** Closes its connections, including those in use. */
  close(): Promise<void>;
}

export interface MailServerOptions {
  address: SmtpAddress;
  sender: MailSender;
  /** Maximum concurrent connections, and thus mails. */
  connectionsMax: number;
  /** Maximum silence of the server, milliseconds. */
  timeoutMs: number;
  clock: Clock;
  /** In addition to Node's trusted certificates. */
  tls?: ConnectionOptions;
}

/** An SMTP server; connections are kept and reused. */
export function smtpServer(options: MailServerOptions): MailServer {
  const { address, clock } = options;
  let opening: Promise<Transporter> | undefined;
  return {
    name: `the mail server ${address.host}:${address.port}`,
    secrets: secretsOf(address),
    async send(mail, limitMs, stop) {
      const abort = new AbortController();
      let ended: 'time' | 'stop' | undefined;
      const end = (why: 'time' | 'stop'): void => {
        ended ??= why;
        abort.abort();
      };
      const onStop = (): void => end('stop');
      const whyEnded = (): typeof ended => ended;
      if (stop?.aborted === true) return stopped;
      stop?.addEventListener('abort', onStop, { once: true });
      const cancelTimer = clock.after(limitMs, () => end('time'));
      try {
        const transport = await (opening ??= openTransport(options));
        const info = await transport.sendMail({ ...composed(mail, options), signal: abort.signal });
        return { answer: 'accepted', status: statusOf(info.response) ?? 250 };
      } catch (error) {
        switch (whyEnded()) {
          case 'stop':
            return stopped;
          case 'time':
            return { answer: 'failed', status: null, error: `no response within ${Math.ceil(limitMs / 1000)} s` };
          case undefined:
            return judged(error);
        }
      } finally {
        cancelTimer();
        stop?.removeEventListener('abort', onStop);
      }
    },
    async close() {
      const transport = await opening?.catch(() => undefined);
      transport?.close();
    },
  };
}

const stopped: MailAnswer = { answer: 'stopped', status: null, error: 'the server stopped during this try' };

async function openTransport(options: MailServerOptions): Promise<Transporter> {
  const { address, connectionsMax, timeoutMs, tls } = options;
  // Loaded when the first mail is sent: most processes send none.
  const { createTransport } = await import('nodemailer');
  const { host, port, secure, starttls, user, password } = address;
  return createTransport({
    pool: true,
    maxConnections: connectionsMax,
    host,
    port,
    secure,
    requireTLS: starttls === 'required' && !secure,
    ignoreTLS: starttls === 'off',
    ...(user === null ? {} : { auth: { user, pass: password ?? '' } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // A template must not be able to attach files of this machine.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(tls === undefined ? {} : { tls }),
  });
}

function composed({ message, id, headers }: OutgoingMail, { sender, clock }: MailServerOptions) {
  const domain = sender.address.slice(sender.address.lastIndexOf('@') + 1);
  return {
    from: sender,
    to: [...message.to],
    envelope: { from: sender.address, to: message.recipient },
    subject: oneLine(message.subject),
    text: message.text,
    date: new Date(clock.now()),
    messageId: `<${id}@${domain}>`,
    // Suppresses out-of-office replies.
    headers: { ...headers, 'Auto-Submitted': 'auto-generated' },
  };
}

/** The response of the server in an error of nodemailer, or the code of the failure. */
interface SmtpFailure {
  code?: unknown;
  response?: unknown;
  responseCode?: unknown;
  message?: unknown;
}

/**
 * A 5xx response to the envelope or to the message is final for this mail. One to the greeting or to the login does not
 * concern the mail: it can be sent once the operator has fixed the configuration.
 */
function judged(error: unknown): MailAnswer {
  const { code, response, responseCode, message } = error as SmtpFailure;
  const status = typeof responseCode === 'number' && responseCode > 0 ? responseCode : statusOf(response);
  const aboutTheMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const refused = aboutTheMail && (status === null || status >= 500);
  const said = typeof response === 'string' && response !== '' ? response : String(message);
  const words = status === null && typeof code === 'string' ? `${code}: ${said}` : said;
  return { answer: refused ? 'refused' : 'failed', status, error: words };
}

function statusOf(response: unknown): number | null {
  const code = typeof response === 'string' ? /^[2-5]\d\d\b/.exec(response)?.[0] : undefined;
  return code === undefined ? null : Number(code);
}

/** The password as written, and as sent. */
function secretsOf({ user, password }: SmtpAddress): string[] {
  if (password === null) return [];
  return [password, base64(password), base64(`\0${user}\0${password}`)];
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
