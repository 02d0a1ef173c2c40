import { test } from 'node:test';

import { ARRIVAL_CASES } from './arrivals.cases.ts';
import { CLAIM_CASES } from './claims.cases.ts';
import { Yard, type OpenStore } from './fixture.ts';
import { LAUNCH_CASES } from './launches.cases.ts';
import { LOOKUP_CASES } from './lookups.cases.ts';
import { RECONCILE_CASES } from './reconcile.cases.ts';
import { REQUEST_CASES } from './requests.cases.ts';
import { SIGNAL_CASES } from './signals.cases.ts';
import { END_CASES, SWEEP_CASES, VIEW_CASES } from './upkeep.cases.ts';

const CASES = {
  requests: REQUEST_CASES,
  claims: CLAIM_CASES,
  arrivals: ARRIVAL_CASES,
  signals: SIGNAL_CASES,
  launches: LAUNCH_CASES,
  sweep: SWEEP_CASES,
  ends: END_CASES,
  reconcile: RECONCILE_CASES,
  view: VIEW_CASES,
  lookups: LOOKUP_CASES,
};

/** Conformance suite for runner stores; each case has its own store, with a clock set by the case. */
export function runnerStoreSuite(name: string, open: OpenStore): void {
  for (const [topic, cases] of Object.entries(CASES)) {
    for (const each of cases) {
      test(`${name}, ${topic}: ${each.name}`, async () => each.run(await Yard.open(open, each.settings)));
    }
  }
}
