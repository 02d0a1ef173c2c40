import { isLoopbackHost } from '@heddle/base/net/classify';
import { mailAddressFault } from '@heddle/core/domain/notification/mail-address';

/** The mail server, from `HEDDLE_SMTP_URL`. */
export interface SmtpAddress {
  host: string;
  port: number;
  /** TLS from the first byte (`smtps://`). */
  secure: boolean;
  /** STARTTLS on a connection that starts unencrypted. */
  starttls: StartTls;
  user: string | null;
  password: string | null;
}

/** `required`: no mail is sent without it; `optional`: used if the server offers it; `off`: never. */
export type StartTls = 'required' | 'optional' | 'off';

export interface MailSender {
  name: string;
  address: string;
}

const PORTS = { smtp: 587, smtps: 465 } as const;
const STARTTLS_WORDS = ['required', 'optional', 'off'] as const satisfies readonly StartTls[];
const SENDER = /^(?:"?([^"<>\x00-\x1f\x7f]*?)"?\s*<([^<>]+)>|([^<>\s]+))$/;

/**
 * Parses `smtp[s]://[USER:PASSWORD@]HOST[:PORT][?starttls=required|optional|off]`; returns null for anything else. A
 * password is never sent unencrypted unless the URL says so.
 */
export function parseSmtpAddress(text: string): SmtpAddress | null {
  const url = URL.parse(text);
  const scheme = url?.protocol.replace(/:$/, '');
  if (url === null || (scheme !== 'smtp' && scheme !== 'smtps') || url.hostname === '') return null;
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash !== '') return null;
  const asked = url.searchParams.get('starttls');
  const others = [...url.searchParams.keys()].filter((name) => name !== 'starttls');
  const starttls = STARTTLS_WORDS.find((word) => word === asked);
  if (others.length > 0 || (asked !== null && (starttls === undefined || scheme === 'smtps'))) return null;
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (user === undefined || password === undefined || (user === null && password !== null)) return null;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    host,
    port: url.port === '' ? PORTS[scheme] : Number(url.port),
    secure: scheme === 'smtps',
    starttls: starttls ?? (user === null || isLoopbackHost(host) ? 'optional' : 'required'),
    user,
    password,
  };
}

/** Parses `name@example.com` or `Some Name <name@example.com>`; returns null for anything else. */
export function parseMailSender(text: string): MailSender | null {
  if (/[\x00-\x1f\x7f]/.test(text)) return null;
  const [, name = '', inBrackets, alone] = SENDER.exec(text.trim()) ?? [];
  const address = inBrackets ?? alone;
  return address === undefined || mailAddressFault(address) !== null ? null : { name: name.trim(), address };
}

/** Undefined if it is not properly encoded. */
function decoded(part: string): string | null | undefined {
  if (part === '') return null;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
