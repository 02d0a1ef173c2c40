import { TlsFault } from './fault.ts';

export type StartTlsProtocol = 'smtp' | 'imap' | 'ftp';

const LINE_BYTES_MAX = 1024;
const LINES_MAX = 64;
const SHOWN_CHARACTERS_MAX = 80;

/** By the port where the service usually listens; null where TLS comes first. */
export function startTlsOfPort(port: number): StartTlsProtocol | null {
  if (port === 25 || port === 587) return 'smtp';
  if (port === 143) return 'imap';
  return port === 21 ? 'ftp' : null;
}

/** What the service says next ends with a line that this takes; `reply` is sent then, null: TLS begins. */
interface Step {
  /** Whether a line is the last one of an answer, and a good one; undefined: more follows. */
  judge(line: string): boolean | undefined;
  readonly reply: string | null;
}

/** The talk in plain text that comes before TLS: bounded in lines, and in bytes of a line. */
export class StartTlsTalk {
  readonly #protocol: StartTlsProtocol;
  readonly #steps: readonly Step[];
  #step = 0;
  #line = '';
  #lines = 0;

  /** @param localAddress by which the client greets, since it has no name */
  constructor(protocol: StartTlsProtocol, localAddress: string) {
    this.#protocol = protocol;
    this.#steps = stepsOf(protocol, localAddress);
  }

  /**
   * What is to be sent next; null to wait; `tls` where TLS begins. What the server says before it is asked is dropped:
   * each answer ends what came with it.
   *
   * @throws TlsFault where the service does not agree to TLS, or says something else
   */
  receive(bytes: Uint8Array): Buffer | 'tls' | null {
    for (const byte of bytes) {
      if (byte !== 0x0a) {
        this.#line += String.fromCharCode(byte);
        if (this.#line.length > LINE_BYTES_MAX) throw this.#refusal('a line without end');
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
    if (this.#lines > LINES_MAX) throw this.#refusal('lines without end');
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

/** Replies of SMTP and FTP: a code and a space on the last line; lines before it have a dash, or (FTP) anything. */
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
