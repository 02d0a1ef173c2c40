import type { Endpoint } from '@heddle/recon/targets/port';
import { parseTargets } from '@heddle/recon/targets/target-list';

const ENDPOINT = /^(?:([^@\s]{1,253})@)?(.+)$/;

/** Formats `10.0.0.1:443`, `[::1]:443`, or with the name to request: `www.example.com@10.0.0.1:443`. */
export function endpointText({ host, ip, port }: Pick<Endpoint, 'host' | 'ip' | 'port'>): string {
  const address = ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
  return host === ip ? address : `${host}@${address}`;
}

/** @throws HeddleError VALIDATION_FAILED if it is invalid */
export function readEndpoint(text: string): Endpoint | null {
  const [, name, rest = ''] = ENDPOINT.exec(text) ?? [];
  const [pinned] = parseTargets([rest]).pinnedHosts;
  if (pinned === undefined || pinned.ip === null) return null;
  const { ip, port } = pinned;
  return { host: name ?? ip, ip, family: ip.includes(':') ? 6 : 4, port };
}
