import { test } from 'node:test';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import type { Command, Pick, RuleSpec, TaskSpec, WorkflowSpec } from '../../support/domain/scenario.ts';
import { openSideBySide } from '../../support/engine/property/connection.ts';

/** Short stories that random scenarios seldom tell; each once went wrong, or could. */
const playSideBySide = await openSideBySide();

const PLAIN: TaskSpec = {
  kind: 0,
  webhook: false,
  priority: 0,
  delay_ms: 0,
  timeout_secs: 3_600,
  basis: 'activity',
  tenant: undefined,
  region: undefined,
  expected_count: null,
  rules: [],
  retry: null,
  parents: [],
};
const ONE_RETRY = { max_attempts: 2, base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0 };
const after = (...back: number[]): TaskSpec['parents'] =>
  back.map((steps) => ({ back: steps, stored: false, requires_success: true }));
const afterAnyEnd = (...back: number[]): TaskSpec['parents'] =>
  back.map((steps) => ({ back: steps, stored: false, requires_success: false }));
const limit = (kind: number, max: number, type: RuleSpec['type'] = 'concurrency'): RuleSpec => ({
  type,
  kind,
  fields: [],
  max,
});

function workflow(...tasks: Partial<TaskSpec>[]): WorkflowSpec {
  return { tasks: tasks.map((task) => ({ ...PLAIN, ...task })), order: tasks.map((_, at) => at) };
}

/** Tasks are meant by their place among all that were submitted. */
const pick = (n: number): Pick => ({ pool: 'any', n });
const claim = (max = 10): Command => ({ type: 'claim', kinds: [0, 1, 2], limit: max });
const advance = (ms: number): Command => ({ type: 'advance', ms });
const deliver = (verdict: 'delivered' | 'retry' | 'dead'): Command => ({
  type: 'deliver',
  limit: 9,
  verdicts: [verdict],
});
const CLAIM_WEBHOOKS: Command = { type: 'claim_for_delivery', limit: 9 };
const operate = (type: 'cancel' | 'pause' | 'resume' | 'retry' | 'retry_after', ...tasks: number[]): Command => ({
  type,
  picks: tasks.map(pick),
});
/** @param along limit of the claim that goes along */
const report = (task: number, outcome: Outcome, along: number | null = null): Command => ({
  type: 'report',
  items: [{ pick: pick(task), speaker: 'anonymous', outcome, counts: null, patch: null }],
  along,
});
const progress = (task: number): Command => ({
  type: 'progress',
  items: [{ pick: pick(task), counts: { new_success: 1, new_failures: 0 } }],
});

function story(name: string, workflows: WorkflowSpec | WorkflowSpec[], ...commands: Command[]): void {
  test(name, () => playSideBySide({ workflows: [workflows].flat(), commands }));
}

story(
  'a started webhook task times out at its own deadline, not at the claim’s',
  workflow({ webhook: true, timeout_secs: 5 }),
  CLAIM_WEBHOOKS,
  deliver('delivered'),
  advance(6_000),
);
story(
  'an attempt canceled during a pause gives its slots back at its deadline',
  workflow({ timeout_secs: 5, rules: [limit(0, 1)] }, { rules: [limit(0, 1)] }),
  claim(1),
  operate('pause', 0),
  advance(6_000),
  operate('cancel', 0),
  advance(6_000),
  claim(),
);
story(
  'a canceled attempt gives its slots back with its late report',
  workflow({ rules: [limit(0, 1)] }, { rules: [limit(0, 1)] }),
  claim(),
  operate('cancel', 0),
  claim(),
  report(0, 'succeeded'),
  claim(),
);
story(
  'the retry of a canceled attempt gives its slots back',
  workflow({ rules: [limit(0, 1)] }, { rules: [limit(0, 1)], priority: 1 }),
  claim(),
  operate('cancel', 1),
  operate('retry', 1),
  claim(),
  claim(),
);
story(
  'a canceled attempt that never reported counts for a rule that comes later',
  [workflow({}), workflow({ rules: [limit(0, 1)] })],
  claim(),
  operate('cancel', 0),
  { type: 'submit' },
  claim(),
);
story(
  'a running attempt counts for a rule that comes later',
  [workflow({}, {}), workflow({ rules: [limit(0, 2)] })],
  claim(),
  { type: 'submit' },
  claim(),
  report(0, 'succeeded'),
  claim(),
);
story(
  'a child starts with the report that opens it',
  workflow({}, { parents: after(1) }, { parents: after(1) }),
  claim(1),
  report(0, 'succeeded', 1),
  report(1, 'succeeded', 1),
  report(2, 'succeeded', 1),
);
story(
  'a child does not start before a task that precedes it',
  workflow({ priority: 2 }, { parents: after(1) }, { priority: 1 }),
  claim(1),
  report(0, 'succeeded', 1),
  report(2, 'succeeded', 1),
);
story(
  'a child that starts with a report counts for the rules of its kind',
  [
    workflow({ kind: 1, rules: [limit(1, 1)] }),
    workflow({}, { kind: 1, parents: after(1) }),
    workflow({ kind: 1, rules: [limit(1, 1)] }),
  ],
  claim(1),
  report(0, 'succeeded'),
  { type: 'submit' },
  claim(1),
  report(1, 'succeeded', 1),
  { type: 'submit' },
  claim(),
  report(2, 'succeeded', 1),
);
story(
  'a report without a child leaves what is ready to the claim that goes along',
  [workflow({}), workflow({}, { delay_ms: 2_000 })],
  claim(1),
  { type: 'submit' },
  report(0, 'succeeded', 1),
  advance(2_000),
  report(1, 'succeeded', 5),
);
story(
  'a task that starts with its submission counts for the rules of its kind',
  [
    workflow({ kind: 1, rules: [limit(1, 1)] }),
    { ...workflow({ kind: 1 }), along: 2 },
    workflow({ kind: 1, rules: [limit(1, 1)] }),
  ],
  claim(1),
  report(0, 'succeeded'),
  { type: 'submit' },
  { type: 'submit' },
  claim(),
  report(1, 'succeeded', 1),
);
story(
  'a task does not start with its submission before one that precedes it',
  [workflow({ priority: 1 }), { ...workflow({}, { priority: 2 }), along: 2 }],
  { type: 'submit' },
);
story(
  'a re-opened descendant keeps its delay',
  workflow({}, { delay_ms: 60_000, parents: after(1) }),
  claim(),
  report(0, 'failed'),
  operate('retry', 0),
  claim(),
  report(0, 'succeeded'),
  claim(),
);
story(
  'a set of retries does not re-open what a parent outside of it holds down',
  workflow({}, { parents: after(1) }, { parents: after(1) }),
  claim(),
  report(0, 'failed'),
  operate('retry', 1, 2),
);
story(
  'parent and child re-open together',
  workflow({}, { parents: after(1) }, { parents: after(1) }),
  claim(),
  report(0, 'failed'),
  operate('retry', 2, 0),
  claim(),
);
story(
  'a rule on another kind, of which nothing runs yet, and which its task takes nothing of',
  workflow({ kind: 1 }, { rules: [limit(1, 1)] }),
  claim(1),
  claim(),
  report(0, 'succeeded'),
  claim(),
);
story(
  'activity during a pause counts',
  workflow({ timeout_secs: 5 }),
  claim(),
  advance(4_000),
  operate('pause', 0),
  progress(0),
  operate('resume', 0),
  advance(3_000),
);
story(
  'a child that runs beside its re-opened parent waits for it before its next attempt',
  workflow({}, { retry: ONE_RETRY, parents: afterAnyEnd(1) }),
  claim(),
  report(0, 'failed'),
  claim(),
  operate('retry', 0),
  report(1, 'failed'),
  advance(6_000),
  claim(),
);
story(
  'a failure during a pause leaves the next attempt paused',
  workflow({ retry: ONE_RETRY }),
  claim(),
  operate('pause', 0),
  report(0, 'failed'),
  advance(6_000),
  claim(),
  operate('resume', 0),
  claim(),
);
story(
  'a slot that its first waiter cannot use goes to the next one',
  workflow({ kind: 0 }, { kind: 1 }, { kind: 2, rules: [limit(0, 1), limit(1, 1)] }, { kind: 2, rules: [limit(0, 1)] }),
  claim(2),
  claim(),
  report(0, 'succeeded'),
  claim(),
  claim(),
);
story(
  'two parents that end in one set close two gates',
  workflow({}, {}, { parents: afterAnyEnd(1, 2) }),
  claim(),
  {
    type: 'report',
    items: [0, 1].map((n) => ({ pick: pick(n), speaker: 'current', outcome: 'succeeded', counts: null, patch: null })),
  },
  claim(),
);
story(
  'a required parent that fails because of an optional one fails its child',
  workflow({}, { parents: after(1) }, { parents: [...after(1), ...afterAnyEnd(2)] }),
  claim(),
  report(0, 'failed'),
);
story(
  'a start that is abandoned while the task is paused fails it',
  workflow({ webhook: true }, { parents: after(1) }),
  CLAIM_WEBHOOKS,
  operate('pause', 0),
  deliver('dead'),
);
story(
  'a start that is acknowledged while the task is paused runs after the resume',
  workflow({ webhook: true, timeout_secs: 5 }),
  CLAIM_WEBHOOKS,
  operate('pause', 0),
  deliver('delivered'),
  advance(6_000),
  operate('resume', 0),
  advance(4_000),
  advance(2_000),
);
story(
  'an end reaches a child in another workflow once, whatever the operator re-opens',
  [workflow({}), workflow({ parents: [{ back: 1, stored: true, requires_success: false }] })],
  { type: 'submit' },
  claim(),
  report(0, 'failed'),
  operate('retry', 0),
  claim(),
  operate('cancel', 1),
  operate('retry', 1),
  report(0, 'succeeded'),
  claim(),
);
story(
  'a retry from here reopens what succeeded after it, and counts again',
  workflow({ expected_count: 2 }, { parents: after(1) }, { parents: afterAnyEnd(1) }, { parents: after(1, 3) }),
  claim(),
  progress(0),
  report(0, 'succeeded'),
  claim(),
  report(1, 'failed'),
  claim(),
  report(2, 'succeeded'),
  claim(),
  report(3, 'succeeded'),
  operate('retry_after', 1),
  operate('retry_after', 0),
  claim(),
  operate('retry_after', 0),
);
story(
  'a retry from here leaves what another parent holds, and what is only after that',
  workflow({}, {}, { parents: after(1, 2) }, { parents: afterAnyEnd(1) }, { parents: afterAnyEnd(1, 4) }),
  claim(),
  report(0, 'failed'),
  report(1, 'succeeded'),
  claim(),
  report(3, 'succeeded'),
  claim(),
  report(4, 'succeeded'),
  operate('retry_after', 1),
  claim(),
  operate('retry_after', 0),
);
story(
  'a retry from here is refused before an open attempt, paused or not, and takes a canceled one',
  workflow({ rules: [limit(0, 2)] }, { parents: after(1), rules: [limit(0, 2)] }),
  claim(),
  report(0, 'succeeded'),
  claim(),
  operate('retry_after', 0),
  operate('pause', 1),
  operate('retry_after', 0),
  operate('cancel', 1),
  operate('retry_after', 0),
  claim(),
);
