export interface HostPort {
  /** An address or a name; IPv6 addresses without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Parses `127.0.0.1:50051`, `[::1]:50051` or `localhost:0`; returns null for anything else. */
export function parseHostPort(text: string): HostPort | null {
  const [, bracketed, plain, digits = ''] = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host === undefined || port > 65_535 ? null : { host, port };
}
