import type { JsonValue } from '@heddle/base/json';
import type { TrackedModel } from '@heddle/core/domain/model-record';

/** Targets from one model: target strings, or individual endpoints. */
export interface ModelTargets {
  targets: string[];
  endpoints: ModelEndpoint[];
}

export interface ModelEndpoint {
  host: string;
  ip: string;
  port: number;
}

type TargetReader = (model: TrackedModel) => Partial<ModelTargets>;

/** Targets hosts and services by address, and names by their last known addresses. */
export const targetsByAddress: TargetReader = (model) => {
  const { data, key } = model;
  switch (model.model) {
    case 'host':
      return { targets: [key] };
    case 'service':
    case 'tls':
      return { endpoints: endpointsOf(model, (ip) => [ip]) };
    case 'name':
      return { targets: addressesOf(data) };
    case 'certificate':
      return { targets: namesOf(data['subject_an']) };
    default:
      return { targets: [key] };
  }
};

/** Targets what is requested by name: each service by each of its names, each name at each of its addresses. */
export function targetsByName(ports: readonly number[]): TargetReader {
  return (model) => {
    const { data } = model;
    switch (model.model) {
      case 'service':
        return { endpoints: endpointsOf(model, (ip) => atLeast(textsOf(data['names']), ip)) };
      case 'tls':
        return { endpoints: endpointsOf(model, (ip) => [textOf(data['sni']) ?? ip]) };
      case 'name': {
        const host = textOf(data['name']) ?? model.key;
        const at = (ip: string): ModelEndpoint[] => ports.map((port) => ({ host, ip, port }));
        return { endpoints: addressesOf(data).flatMap(at) };
      }
      default:
        return targetsByAddress(model);
    }
  };
}

/** Targets names to resolve, and addresses whose names to look up. */
export const nameTargets: TargetReader = ({ model, key, data }) => {
  switch (model) {
    case 'host':
      return { targets: [key, ...namesOf(data['names'])] };
    case 'service':
      return { targets: [...textsOf(data['ip']), ...namesOf(data['names'])] };
    case 'name':
      return { targets: [textOf(data['name']) ?? key] };
    case 'tls':
      return { targets: namesOf(data['sni']) };
    case 'certificate':
      return { targets: namesOf(data['subject_an']) };
    default:
      return { targets: [key] };
  }
};

function endpointsOf({ data }: TrackedModel, hostsOf: (ip: string) => string[]): ModelEndpoint[] {
  const ip = textOf(data['ip']);
  const port = data['port'];
  if (ip === null || typeof port !== 'number') return [];
  return hostsOf(ip).map((host) => ({ host, ip, port }));
}

function addressesOf(data: TrackedModel['data']): string[] {
  return [...textsOf(data['a']), ...textsOf(data['aaaa'])];
}

/** Returns names without wildcards and without invalid host names. */
function namesOf(value: JsonValue | undefined): string[] {
  return textsOf(value).filter((name) => NAME.test(name) || ADDRESS.test(name));
}

const NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
const ADDRESS = /^[0-9a-f:.]+$/i;

function textsOf(value: JsonValue | undefined): string[] {
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return values.filter((each) => typeof each === 'string');
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function atLeast(texts: string[], fallback: string): string[] {
  return texts.length === 0 ? [fallback] : texts;
}
