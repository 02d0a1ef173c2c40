/**
 * Why a probe has no answer; its message is the record's `error`. `kind` tells what the scan may conclude: a `refused`
 * offer was understood, what is `silent` may answer another time, a `shortage` is this machine's own, and the rest does not speak TLS as it should.
 */
export class TlsFault extends Error {
  readonly kind: 'refused' | 'silent' | 'unreachable' | 'malformed' | 'shortage';
  /** The alert's name, where one was sent. */
  readonly alert: string | null;

  constructor(kind: TlsFault['kind'], message: string, alert: string | null = null) {
    super(message);
    this.name = 'TlsFault';
    this.kind = kind;
    this.alert = alert;
  }
}

export function malformed(what: string): TlsFault {
  return new TlsFault('malformed', `malformed: ${what}`);
}
