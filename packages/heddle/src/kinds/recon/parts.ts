import type { JsonObject } from '@heddle/base/json';
import { rangeText } from '@heddle/recon/targets/address-set';
import { partition } from '@heddle/recon/targets/partition';
import { Permutation } from '@heddle/recon/targets/permutation';
import type { TargetHost } from '@heddle/recon/targets/port';
import type { TargetList } from '@heddle/recon/targets/target-list';
import { endpointText } from './endpoint-text.ts';

/** Maximum bytes of targets in a task's input: inputs are at most 64 KiB. */
const TEXTS_BYTES_MAX = 32 * 1024;
/** Smaller parts are not worth a task. */
const ENDPOINTS_MIN = 1024;
/** Maximum hosts that are listed individually if their description is too long. */
const WRITTEN_HOSTS_MAX = 1_000_000;

export interface PartsOptions {
  targets: TargetList;
  /** Ports of hosts that do not name their own. */
  ports: number;
  tasks_max: number;
  seed: number;
}

/**
 * Returns the parts of a scan as inputs of its tasks: slices of the permuted hosts if the description of all is short,
 * else the hosts themselves. No two parts share a host.
 *
 * @throws Error if more tasks would be needed than allowed
 */
export function partsOf({ targets, ports, tasks_max, seed }: PartsOptions): JsonObject[] {
  if (targets.size === 0) return [];
  const parts = partition(targets, ports, tasks_max, ENDPOINTS_MIN);
  const texts = describe(targets);
  if (texts !== null) {
    return parts.map(({ slice, port_slice }) => ({
      targets: texts,
      seed,
      ...(slice.count === targets.size ? {} : { slice: { ...slice } }),
      ...(port_slice.count === ports ? {} : { port_slice: { ...port_slice } }),
    }));
  }
  if (targets.size > WRITTEN_HOSTS_MAX) {
    throw new Error(
      `the targets are ${targets.size} hosts, and the list of them is longer than ${TEXTS_BYTES_MAX / 1024} KiB; name networks instead of parts of them`,
    );
  }
  const permuted = new Permutation(targets.size, seed);
  const hosts = Array.from({ length: targets.size }, (_, index) => [hostText(targets.at(permuted.at(index)))]);
  return chunksOf(hosts, tasks_max, parts.length).map((each) => ({ targets: each, seed }));
}

/** Divides individual endpoints, keeping all of a host in one part. */
export function endpointParts(
  endpoints: readonly { host: string; ip: string; port: number }[],
  { tasks_max, seed }: { tasks_max: number; seed: number },
): JsonObject[] {
  const byHost = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const text = endpointText(endpoint);
    const known = byHost.get(endpoint.ip);
    if (known === undefined) byHost.set(endpoint.ip, [text]);
    else known.push(text);
  }
  const hosts = [...byHost.values()];
  const permuted = new Permutation(hosts.length, seed);
  const groups = hosts.map((_, index) => hosts[permuted.at(index)]!);
  const wanted = Math.min(tasks_max, Math.ceil(endpoints.length / ENDPOINTS_MIN));
  return chunksOf(groups, tasks_max, wanted).map((each) => ({ endpoints: each, seed }));
}

/** Divides words into parts that fit inputs besides the names they are prepended to. */
export function wordParts(
  targets: TargetList,
  words: readonly string[],
  { tasks_max, seed }: { tasks_max: number; seed: number },
): JsonObject[] {
  if (targets.names.length === 0) return [];
  const texts = describe(targets);
  if (texts === null) {
    throw new Error(
      `words are prepended to each target, and the list of targets is longer than ${TEXTS_BYTES_MAX / 1024} KiB`,
    );
  }
  const wanted = Math.min(tasks_max, Math.ceil((targets.names.length * words.length) / ENDPOINTS_MIN));
  const groups = words.map((word) => [word]);
  return chunksOf(groups, tasks_max, wanted, TEXTS_BYTES_MAX / 2).map((each) => ({
    targets: texts,
    words: each,
    seed,
  }));
}

/** Returns strings that describe the targets without exclusions; null if they would be too long. */
function describe(targets: TargetList): string[] | null {
  const pinned = targets.pinnedHosts.map(hostText);
  const texts = [...targets.addresses.ranges.map(rangeText), ...targets.names, ...pinned];
  return bytesOf(texts) <= TEXTS_BYTES_MAX ? texts : null;
}

function hostText({ host, ip, port }: TargetHost): string {
  if (port === null) return host;
  return ip !== null && ip.includes(':') ? `[${ip}]:${port}` : `${host}:${port}`;
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 3, 2);
}

/** Returns about `wanted` runs of about equally many strings, more if they would exceed an input; groups stay whole. */
function chunksOf(
  groups: readonly (readonly string[])[],
  tasksMax: number,
  wanted: number,
  bytesMax = TEXTS_BYTES_MAX,
): string[][] {
  const count = groups.reduce((sum, group) => sum + group.length, 0);
  const size = Math.ceil(count / Math.max(1, wanted));
  const chunks: string[][] = [];
  let bytes = 0;
  for (const group of groups) {
    const length = bytesOf(group);
    const last = chunks.at(-1);
    if (last === undefined || last.length >= size || bytes + length > bytesMax) {
      chunks.push([...group]);
      bytes = length;
    } else {
      last.push(...group);
      bytes += length;
    }
  }
  if (chunks.length <= tasksMax) return chunks;
  throw new Error(
    `${count} targets that are named one by one need ${chunks.length} tasks, but at most ${tasksMax} are allowed; raise partition.tasks_max, or name networks`,
  );
}
