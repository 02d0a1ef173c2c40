export interface HostPort {
  /** An address or a name, an IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:50051`, `[::1]:50051`, `localhost:0`; null for anything else. */
export function parseHostPort(text: string): HostPort | null {
  const [, bracketed, plain, digits = ''] = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host === undefined || port > 65_535 ? null : { host, port };
}
