import type { SubjectName } from '../registry.ts';
import type { Participant, Scenario } from '../scenario.ts';
import { percentile, perSecond } from '../statistics.ts';
import { CASES, type ClaimRequest, type PoolCase } from './requests.ts';

const BACKENDS: readonly SubjectName[] = ['pool-postgres', 'pool-sqs-classic', 'pool-sqs-sharded'];
const CLAIMERS = 16;

/** One pool in several situations. */
function claims(quick: boolean): Scenario {
  const bench = 'pool/claims';
  const participant = (label: string, request: ClaimRequest): Participant => ({
    label,
    subject: 'pool-postgres',
    async warmUp(client) {
      await client.runnerClaims({ ...request, claims: Math.min(500, request.claims) });
    },
    async round(client) {
      const { wall_ms, latencies } = await client.runnerClaims(request);
      return [
        { bench, metric: 'runners_per_s', value: perSecond(request.claims * request.gang, wall_ms) },
        { bench, metric: 'p50_ms', value: percentile(latencies, 0.5) },
        { bench, metric: 'p99_ms', value: percentile(latencies, 0.99) },
      ];
    },
  });
  const count = quick ? 2_000 : 10_000;
  return {
    benches: [bench],
    rounds: 3,
    participants: [
      participant('1,000 idle', { idle: 1_000, claims: count, gang: 1, claimers: CLAIMERS }),
      participant('50,000 idle', { idle: 50_000, claims: count, gang: 1, claimers: CLAIMERS }),
      participant('gangs of 50', { idle: 2_000, claims: quick ? 200 : 1_000, gang: 50, claimers: CLAIMERS }),
    ],
  };
}

function handOver(quick: boolean): Scenario {
  const bench = 'pool/hand-over';
  return {
    benches: [bench],
    rounds: 3,
    participants: [
      {
        label: 'pool-postgres',
        subject: 'pool-postgres',
        async warmUp(client) {
          await client.runnerHandOver(20);
        },
        async round(client) {
          const latencies = await client.runnerHandOver(quick ? 200 : 1_000);
          return [
            { bench, metric: 'p50_ms', value: percentile(latencies, 0.5) },
            { bench, metric: 'p99_ms', value: percentile(latencies, 0.99) },
          ];
        },
      },
    ],
  };
}

/** Compares backends: what they find, and at what cost. */
function backends(poolCase: PoolCase): Scenario {
  const bench = `pool/${poolCase.name}`;
  const participant = (subject: SubjectName): Participant => ({
    label: subject,
    subject,
    async warmUp() {
      // The first requests of a burst are a part of it.
    },
    async round(client) {
      const { served, operations, latencies } = await client.runnerCase(poolCase);
      return [
        { bench, metric: 'served_warm_percent', value: (100 * served) / poolCase.requests },
        { bench, metric: 'found_nothing', value: poolCase.requests - served },
        { bench, metric: 'operations_per_request', value: operations / poolCase.requests },
        { bench, metric: 'p50_ms', value: percentile(latencies, 0.5) },
        { bench, metric: 'p99_ms', value: percentile(latencies, 0.99) },
      ];
    },
  });
  return { benches: [bench], rounds: 1, participants: BACKENDS.map(participant) };
}

export function runnerPoolScenarios(quick: boolean): Scenario[] {
  const cases = quick ? CASES.filter(({ idle }) => idle <= 1_000) : CASES;
  return [claims(quick), handOver(quick), ...cases.map(backends)];
}
