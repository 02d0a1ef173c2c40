/** The requests to a runner pool. */

export interface ClaimRequest {
  /** Idle runners of the requested type. */
  idle: number;
  claims: number;
  /** Runners of each claim: all or none. */
  gang: number;
  claimers: number;
}

export interface ClaimRun {
  wall_ms: number;
  /** Latency of each claim, from the request to the runners, milliseconds. */
  latencies: number[];
}

/** Idle runners, and requests that each accept one type; all at once, or at a rate per second. */
export interface PoolCase {
  name: string;
  types: number;
  idle: number;
  /** Idle runners of types that are not requested. */
  unwanted: number;
  requests: number;
  per_second: number | null;
}

export interface CaseRun {
  served: number;
  operations: number;
  latencies: number[];
  wall_ms: number;
}

export const CASES: readonly PoolCase[] = [
  { name: 'burst_800_of_1000', types: 8, idle: 1_000, unwanted: 0, requests: 800, per_second: null },
  { name: 'mostly_unwanted', types: 2, idle: 1_000, unwanted: 900, requests: 100, per_second: null },
  { name: 'stream_50_per_s', types: 8, idle: 400, unwanted: 0, requests: 400, per_second: 50 },
  { name: 'burst_4000_of_20000', types: 50, idle: 20_000, unwanted: 0, requests: 4_000, per_second: null },
];

/** The type that the n-th request accepts: every type exists at least as often as it is requested. */
export function wantedType(poolCase: PoolCase, n: number): string {
  return poolCase.unwanted > 0 ? typeName(1) : typeName(n % poolCase.types);
}

/** The type of the n-th idle runner. */
export function idleType(poolCase: PoolCase, n: number): string {
  if (poolCase.unwanted > 0) return typeName(n < poolCase.unwanted ? 0 : 1);
  return typeName(n % poolCase.types);
}

export function typeName(n: number): string {
  return `m${n}.large`;
}
