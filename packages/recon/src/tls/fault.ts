/**
 * A failed probe; its message is the record's `error`. `kind` is what the scan may conclude: `refused` means the offer
 * was understood, `silent` may answer another time, `shortage` is local, and anything else is a TLS protocol error.
 */
export class TlsFault extends Error {
  readonly kind: 'refused' | 'silent' | 'unreachable' | 'malformed' | 'shortage';
  /** The alert's name, if one was sent. */
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
