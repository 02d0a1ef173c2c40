import { messageOf } from '@heddle/base/thrown';
import type { ResolveTargetName } from '@heddle/recon/targets/name-resolutions';
import { endpoints } from '@heddle/recon/targets/endpoints';
import { parsePorts } from '@heddle/recon/targets/ports';
import type { Endpoint, EndpointSource, Scope } from '@heddle/recon/targets/port';
import { parseTargets } from '@heddle/recon/targets/target-list';
import { readEndpoint } from './endpoint-text.ts';
import type { SkippedTargets } from './skipped-targets.ts';
import type { EndpointPart } from './scan-input.ts';

export interface SourceOptions {
  part: EndpointPart & { ports: string; all_addresses: boolean; settings: { exclude: readonly string[] } };
  scope: Scope;
  resolve: ResolveTargetName;
  skippedTargets: SkippedTargets;
}

/** Returns the endpoints of one task; those out of scope and unresolvable names are recorded as left out. */
export function endpointSource({ part, scope, resolve, skippedTargets }: SourceOptions): EndpointSource {
  if (part.endpoints !== null) return new ListedEndpoints(part.endpoints.flatMap(readOne), scope, skippedTargets);
  return endpoints({
    targets: parseTargets(part.targets, { exclude: part.settings.exclude }),
    ports: parsePorts(part.ports),
    seed: part.seed,
    allAddresses: part.all_addresses,
    scope,
    resolve: async (name, signal) => {
      try {
        return await resolve(name, signal);
      } catch (error) {
        skippedTargets.add(name, messageOf(error));
        throw error;
      }
    },
    onRefused: (host, reason) => skippedTargets.add(host, reason),
    onUnresolved: () => {
      skippedTargets.unresolved += 1;
    },
    ...(part.slice === null ? {} : { slice: part.slice }),
    ...(part.port_slice === null ? {} : { port_slice: part.port_slice }),
  });
}

function readOne(text: string): Endpoint[] {
  const endpoint = readEndpoint(text);
  return endpoint === null ? [] : [endpoint];
}

/** Endpoints that are listed individually. */
class ListedEndpoints implements EndpointSource {
  readonly size: number;
  readonly #endpoints: readonly Endpoint[];
  readonly #scope: Scope;
  readonly #skippedTargets: SkippedTargets;
  #at = 0;

  constructor(endpoints: readonly Endpoint[], scope: Scope, skippedTargets: SkippedTargets) {
    this.size = endpoints.length;
    this.#endpoints = endpoints;
    this.#scope = scope;
    this.#skippedTargets = skippedTargets;
  }

  next(max: number): Promise<readonly Endpoint[]> {
    const batch: Endpoint[] = [];
    while (batch.length < max && this.#at < this.size) {
      const endpoint = this.#endpoints[this.#at]!;
      this.#at += 1;
      const { host, ip } = endpoint;
      const verdict = this.#scope.check(ip, host === ip ? null : host);
      if (verdict.allowed) batch.push(endpoint);
      else this.#skippedTargets.add(host, verdict.reason);
    }
    return Promise.resolve(batch);
  }
}
