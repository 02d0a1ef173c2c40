import { TlsFault } from './fault.ts';

export type StartTlsProtocol = 'smtp' | 'imap' | 'ftp';

const LINE_BYTES_MAX = 1024;
const LINES_MAX = 64;
const SHOWN_CHARACTERS_MAX = 80;

/** Returns the protocol usual for a port; null if TLS starts at once. */
export function startTlsOfPort(port: number): StartTlsProtocol | null {
  if (port === 25 || port === 587) return 'smtp';
  if (port === 143) return 'imap';
  return port === 21 ? 'ftp' : null;
}

/** One step of the dialog: a server response whose last line matches, then `reply`; null: TLS starts. */
interface Step {
  /** Returns whether a line is the last one of a response, and positive; undefined: more lines follow. */
  judge(line: string): boolean | undefined;
  readonly reply: string | null;
}

/** The plain-text dialog before TLS, bounded in lines and bytes per line. */
export class StartTlsDialog {
  readonly #protocol: StartTlsProtocol;
  readonly #steps: readonly Step[];
  #step = 0;
  #line = '';
  #lines = 0;

  /** @param localAddress address for the client's greeting, since it has no name */
  constructor(protocol: StartTlsProtocol, localAddress: string) {
    this.#protocol = protocol;
    this.#steps = stepsOf(protocol, localAddress);
  }

  /**
   * Returns the next bytes to send; null to wait; `tls` when TLS starts. Unsolicited server data is dropped: each
   * response ends the data received with it.
   *
   * @throws TlsFault if the service refuses TLS or violates the protocol
   */
  receive(bytes: Uint8Array): Buffer | 'tls' | null {
    for (const byte of bytes) {
      if (byte !== 0x0a) {
        this.#line += String.fromCharCode(byte);
        if (this.#line.length > LINE_BYTES_MAX) throw this.#refusal('a line is too long');
        continue;
      }
      const reply = this.#endLine();
      if (reply === undefined) continue;
      return reply === null ? 'tls' : Buffer.from(reply, 'latin1');
    }
    return null;
  }

  closed(): TlsFault {
    return this.#refusal('closed before TLS');
  }

  #endLine(): string | null | undefined {
    const line = this.#line.replace(/\r$/, '');
    this.#line = '';
    this.#lines += 1;
    if (this.#lines > LINES_MAX) throw this.#refusal('too many lines');
    const step = this.#steps[this.#step]!;
    const isGood = step.judge(line);
    if (isGood === undefined) return undefined;
    if (!isGood) throw this.#refusal(shown(line));
    this.#step += 1;
    return step.reply;
  }

  #refusal(what: string): TlsFault {
    return new TlsFault('malformed', `starttls ${this.#protocol}: ${what}`);
  }
}

function stepsOf(protocol: StartTlsProtocol, localAddress: string): Step[] {
  switch (protocol) {
    case 'smtp': {
      const literal = localAddress.includes(':') ? `IPv6:${localAddress}` : localAddress;
      return [
        { judge: byCode('220'), reply: `EHLO [${literal}]\r\n` },
        { judge: byCode('250'), reply: 'STARTTLS\r\n' },
        { judge: byCode('220'), reply: null },
      ];
    }
    case 'imap':
      return [
        { judge: (line) => /^\* (?:OK|PREAUTH)\b/i.test(line), reply: 'a1 STARTTLS\r\n' },
        { judge: (line) => (line.startsWith('a1 ') ? /^a1 OK\b/i.test(line) : undefined), reply: null },
      ];
    case 'ftp':
      return [
        { judge: byCode('220'), reply: 'AUTH TLS\r\n' },
        { judge: byCode('234'), reply: null },
      ];
  }
}

/** Replies of SMTP and FTP: a code and a space on the last line; earlier lines have a dash, or (FTP) anything. */
function byCode(code: string): (line: string) => boolean | undefined {
  let isWithin = false;
  return (line) => {
    if (/^\d{3} |^\d{3}$/.test(line)) return line.startsWith(code);
    if (/^\d{3}-/.test(line)) {
      isWithin = true;
      return undefined;
    }
    return isWithin ? undefined : false;
  };
}

function shown(line: string): string {
  return JSON.stringify(line.slice(0, SHOWN_CHARACTERS_MAX).replaceAll(/[^\x20-\x7e]/g, '.'));
}
