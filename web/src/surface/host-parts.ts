import type { Model } from '@heddle/client';
import { readModels } from '../api/models.ts';
import { useLive } from '../data/live.ts';
import { textOf, textsOf } from './model-data.ts';
import { keyAddress } from './service-words.ts';

/** Certificates and names are searched in all data. */
const SEARCH_REFRESH_MS = 10_000;

export interface HostParts {
  services: readonly Model[];
  endpoints: readonly Model[];
  certificates: readonly Model[];
  names: readonly Model[];
}

const NONE: readonly Model[] = [];

/** What belongs to a host, of all targets: scans of ports, names and certificates may have targets of their own. */
export function useHostParts(host: Model): { parts: HostParts; error: Error | null; updatedAtMs: number } {
  const ip = textOf(host.data, 'ip') ?? host.key;
  const prefix = `${keyAddress(ip)}:`;
  const services = useLive(['host', ip, 'services'], (signal) => readModels({ model: 'service', key: prefix }, signal));
  const endpoints = useLive(['host', ip, 'tls'], (signal) => readModels({ model: 'tls', key: prefix }, signal));
  const certificates = useLive(
    ['host', ip, 'certificates'],
    (signal) => readModels({ model: 'certificate', search: prefix }, signal),
    { every: SEARCH_REFRESH_MS },
  );
  const names = useLive(['host', ip, 'names'], (signal) => readModels({ model: 'name', search: ip }, signal), {
    every: SEARCH_REFRESH_MS,
  });
  const all = [services, endpoints, certificates, names];
  const parts = {
    services: distinct(services.data, host).sort((one, other) => portOf(one) - portOf(other)),
    endpoints: distinct(endpoints.data, host),
    certificates: distinct(certificates.data, host).filter(({ data }) =>
      textsOf(data, 'endpoints').some((endpoint) => endpoint.startsWith(prefix)),
    ),
    names: distinct(names.data, host).filter((model) => concerns(model, ip)),
  };
  const failed = all.find(({ error }) => error !== null);
  return { parts, error: failed?.error ?? null, updatedAtMs: failed?.dataUpdatedAt ?? 0 };
}

/** Of models with one key, that of the target of the host comes first. */
function distinct(models: readonly Model[] = NONE, { target }: Model): Model[] {
  const byKey = new Map<string, Model>();
  for (const model of models) if (!byKey.has(model.key) || model.target === target) byKey.set(model.key, model);
  return [...byKey.values()];
}

function concerns({ data }: Model, ip: string): boolean {
  return textOf(data, 'name') === ip || [...textsOf(data, 'a'), ...textsOf(data, 'aaaa')].includes(ip);
}

export function portOf({ data }: Model): number {
  return Number(data['port']);
}
