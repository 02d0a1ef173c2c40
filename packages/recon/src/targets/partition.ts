import type { Slice } from './endpoints.ts';
import type { TargetSet } from './port.ts';

/** One part of a scan: hosts, and ports of them. */
export interface Part {
  readonly slice: Slice;
  readonly port_slice: Slice;
}

/**
 * Divides targets and ports into parts of about equally many endpoints, each endpoint in exactly one: by hosts, so
 * that no two parts send to the same host; by ports only for a single host.
 *
 * @param parts maximum number of parts
 * @param endpointsMin minimum endpoints of a part if there is more than one: small scans are not worth dividing
 */
export function partition(targets: TargetSet, ports: number, parts: number, endpointsMin = 1): Part[] {
  const plain = targets.size - targets.pinned;
  const total = plain * ports + targets.pinned;
  if (total === 0) return [];
  const wanted = Math.max(1, Math.min(parts, Math.ceil(total / endpointsMin)));
  if (targets.size === 1) {
    const byPorts = plain === 1 ? Math.min(wanted, ports) : 1;
    return cuts(Math.max(1, ports), byPorts).map((port_slice) => ({ slice: { from: 0, count: 1 }, port_slice }));
  }
  const all = { from: 0, count: ports };
  // A host with a port of its own is one endpoint; any other has as many as there are ports.
  const positionOf = (endpoint: number): number =>
    endpoint <= plain * ports ? Math.round(endpoint / ports) : plain + Math.round(endpoint - plain * ports);
  const slices: Part[] = [];
  let from = 0;
  for (let part = 1; part <= wanted; part += 1) {
    const end = part === wanted ? targets.size : ports === 0 ? part : positionOf((total / wanted) * part);
    if (end > from) slices.push({ slice: { from, count: end - from }, port_slice: all });
    from = Math.max(from, end);
  }
  return slices;
}

function cuts(size: number, parts: number): Slice[] {
  return Array.from({ length: parts }, (_, part) => {
    const from = Math.floor((size * part) / parts);
    return { from, count: Math.floor((size * (part + 1)) / parts) - from };
  });
}
