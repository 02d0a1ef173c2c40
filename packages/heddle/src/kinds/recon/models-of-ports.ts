import type { ReportedModel } from '@heddle/core/domain/model-record';
import type { PortRecord } from '@heddle/recon/records';
import { present } from './fitted.ts';

/** Formats `10.0.0.1:443`, `[::1]:443`. */
export function addressAndPort(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/**
 * Converts a port to models: an open one is a service on a host, a closed one a host, a filtered one nothing. Method
 * and round-trip time are omitted, since they would change in every run.
 */
export function modelsOfPort({ state, host, ip, port, protocol, banner }: PortRecord): ReportedModel[] {
  if (state === 'filtered') return [];
  const names = host === ip ? [] : [host];
  const ports = state === 'open' ? [port] : [];
  const models: ReportedModel[] = [{ model: 'host', key: ip, data: { ip, names, ports } }];
  if (state === 'open') {
    const data = present({ ip, port, protocol, names, banner });
    models.push({ model: 'service', key: `${addressAndPort(ip, port)}/${protocol}`, data });
  }
  return models;
}
