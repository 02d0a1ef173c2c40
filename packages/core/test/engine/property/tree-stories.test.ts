import { test } from 'node:test';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import type {
  ContainerSpec,
  CreationSpec,
  NodeSpec,
  TreeCommand,
  TreePick,
  TreeTaskSpec,
} from '../../support/domain/tree-scenario.ts';
import type { Speaker } from '../../support/domain/scenario.ts';
import { openTreesSideBySide } from '../../support/engine/property/connection.ts';

/** Short stories of trees that random scenarios seldom tell; each once went wrong, or could. */
const playSideBySide = await openTreesSideBySide();

const TASK: TreeTaskSpec = {
  policy: 'FailOnFailure',
  disabled: false,
  generates: false,
  retry: null,
  timeout_secs: 3_600,
  delay_ms: 0,
};
const GENERATOR: TreeTaskSpec = { ...TASK, generates: true };
const TOLERATED: TreeTaskSpec = { ...TASK, policy: 'ContinueOnFailure' };
const DISABLED: TreeTaskSpec = { ...TASK, disabled: true };

const container = (mode: ContainerSpec['mode'], children: NodeSpec[]): ContainerSpec => ({
  mode,
  policy: 'FailOnFailure',
  name: null,
  children,
});
const sequence = (...children: NodeSpec[]): ContainerSpec => container('sequential', children);
const parallel = (...children: NodeSpec[]): ContainerSpec => container('parallel', children);
const named = (name: number, spec: ContainerSpec): ContainerSpec => ({ ...spec, name });
const tolerated = (spec: ContainerSpec): ContainerSpec => ({ ...spec, policy: 'ContinueOnFailure' });

/** Tasks are meant by their place among all that were submitted or created. */
const pick = (n: number): TreePick => ({ pool: 'any', n });
const CLAIM: TreeCommand = { type: 'claim', limit: 50, lease_ms: null };
const COMPLETE: TreeCommand = { type: 'complete' };
const RETRY_WORKFLOW: TreeCommand = { type: 'retry_workflow', n: 0 };
const CANCEL_WORKFLOW: TreeCommand = { type: 'cancel_workflow', n: 0 };
const advance = (ms: number): TreeCommand => ({ type: 'advance', ms });
const operate = (type: 'cancel' | 'pause' | 'resume' | 'retry' | 'retry_after', ...tasks: number[]): TreeCommand => ({
  type,
  picks: tasks.map(pick),
});
const report = (task: number, outcome: Outcome = 'succeeded', expects: number | null = null): TreeCommand => ({
  type: 'report',
  items: [{ pick: pick(task), speaker: 'anonymous', outcome, expects }],
});
const creation = (generator: number, node: NodeSpec, name: number | null = null): CreationSpec => ({
  generator: pick(generator),
  into: name === null ? 'own' : 'name',
  n: name ?? 0,
  node,
  speaker: 'anonymous',
  repeats: null,
});
const create = (...items: CreationSpec[]): TreeCommand => ({ type: 'create', items });
/** Sends an earlier message, counted back from the last one, again in the name of an attempt. */
const again = (repeats: number, speaker: Speaker = 'anonymous'): CreationSpec => ({
  ...creation(0, TASK),
  repeats,
  speaker,
});
const SEND_AGAIN: TreeCommand = create(again(0));

function story(name: string, root: ContainerSpec, ...commands: TreeCommand[]): void {
  test(name, () => playSideBySide({ workflows: [root], commands }));
}

const FAN_OUT = sequence(GENERATOR, named(1, parallel()), TASK);
const WORKER = creation(0, TASK, 1);

story(
  'a completion before its nodes',
  FAN_OUT,
  CLAIM,
  report(0, 'succeeded', 2),
  COMPLETE,
  create(WORKER, WORKER),
  COMPLETE,
  CLAIM,
  report(2),
  report(3),
  CLAIM,
  report(1),
);
story(
  'a completion between its nodes',
  FAN_OUT,
  CLAIM,
  create(WORKER),
  report(0, 'succeeded', 1),
  create(WORKER),
  COMPLETE,
  CLAIM,
);
story('a completion after its nodes', FAN_OUT, CLAIM, create(WORKER, WORKER), report(0, 'succeeded', 0), CLAIM);
story(
  'a repeated message counts once',
  FAN_OUT,
  CLAIM,
  create(WORKER),
  SEND_AGAIN,
  report(0, 'succeeded', 1),
  SEND_AGAIN,
  COMPLETE,
  create(WORKER),
  COMPLETE,
  SEND_AGAIN,
);
story(
  'a generator that never makes all it announced times out, and its next attempt counts again',
  sequence(
    { ...GENERATOR, timeout_secs: 5, retry: { max_attempts: 2, base_ms: 1_000, factor: 2, max_ms: 9_000, jitter: 0 } },
    named(1, parallel()),
  ),
  CLAIM,
  create(WORKER),
  report(0, 'succeeded', 1),
  advance(6_000),
  advance(2_000),
  CLAIM,
  create(WORKER),
  report(0, 'succeeded', 0),
  CLAIM,
);
const TRIED_AGAIN = sequence(
  { ...GENERATOR, retry: { max_attempts: 3, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 } },
  named(1, parallel()),
);
story(
  'what an earlier attempt made and the next one does not make again does not count for it',
  TRIED_AGAIN,
  CLAIM,
  create(WORKER, WORKER),
  report(0, 'failed'),
  CLAIM,
  create(WORKER),
  report(0, 'succeeded', 1),
  COMPLETE,
  create(WORKER),
  COMPLETE,
  CLAIM,
);
story(
  'what the next attempt makes again counts for it, once',
  TRIED_AGAIN,
  CLAIM,
  create(WORKER, creation(0, parallel(TASK))),
  report(0, 'failed'),
  CLAIM,
  create(again(0, 'current'), again(1, 'current')),
  create(again(0)),
  report(0, 'succeeded', 0),
  CLAIM,
);
story(
  'a late message of an earlier attempt makes nothing',
  TRIED_AGAIN,
  CLAIM,
  create({ ...WORKER, speaker: 'current' }),
  report(0, 'failed'),
  CLAIM,
  create({ ...WORKER, speaker: 'stale' }, { ...WORKER, speaker: 'future' }),
  create(again(0, 'stale'), again(0, 'current')),
  report(0, 'succeeded', 0),
);
story(
  'a canceled generator that waited for its nodes lets go at once, paused or not',
  parallel(GENERATOR, GENERATOR),
  CLAIM,
  report(0, 'succeeded', 1),
  report(1, 'succeeded', 1),
  operate('pause', 1),
  operate('cancel', 0, 1),
  report(0),
);
story(
  'an expanding generator keeps its deadline through a pause',
  parallel({ ...GENERATOR, timeout_secs: 5 }),
  CLAIM,
  report(0, 'succeeded', 1),
  operate('pause', 0),
  advance(6_000),
  COMPLETE,
  operate('resume', 0),
  advance(4_000),
  advance(2_000),
);
story(
  'a paused generator that completes expands',
  parallel(GENERATOR),
  CLAIM,
  operate('pause', 0),
  report(0, 'succeeded', 1),
  create(creation(0, TASK)),
  COMPLETE,
);
story(
  'a canceled generator takes no more nodes',
  FAN_OUT,
  CLAIM,
  create(WORKER),
  operate('cancel', 0),
  create(WORKER),
  report(0, 'succeeded', 0),
);
story(
  'an empty container waits for a generator beside it',
  parallel(sequence(TASK, GENERATOR), sequence(named(1, parallel()), TASK)),
  CLAIM,
  report(0),
  CLAIM,
  create(creation(1, TASK, 1)),
  report(1),
  CLAIM,
);
story(
  'two sequences of generators side by side do not wait for each other forever',
  parallel(
    sequence(GENERATOR, parallel(), GENERATOR, parallel(), TASK),
    sequence(GENERATOR, parallel(), GENERATOR, parallel(), TASK),
  ),
  CLAIM,
  report(0),
  report(3),
  CLAIM,
  report(1),
  report(4),
  CLAIM,
);
story(
  'two containers that each wait for a generator behind the other end',
  parallel(sequence(parallel(), GENERATOR), sequence(parallel(), GENERATOR)),
  CLAIM,
  report(0),
  report(1),
);
story(
  'a stopped sequence waits for no generator',
  parallel(sequence(TASK, named(1, parallel()), TASK), GENERATOR),
  CLAIM,
  create(creation(2, TASK, 1)),
  report(0, 'failed'),
  create(creation(2, TASK, 1)),
  report(2),
);
story(
  'what was canceled before its turn stops the sequence when that comes to it',
  sequence(TASK, TASK, TASK),
  operate('cancel', 1),
  CLAIM,
  report(0),
);
story(
  'a container that was canceled before its turn is what its children make of it',
  sequence(TASK, tolerated(sequence(TASK, TASK)), TASK),
  operate('cancel', 1, 2),
  CLAIM,
  report(0),
  CLAIM,
);
story(
  'a sequence runs on past what its policy tolerates',
  sequence(TOLERATED, { ...TASK, policy: 'ContinueOnPartialFailure' }, TASK, TASK),
  CLAIM,
  report(0, 'timed_out'),
  CLAIM,
  report(1, 'partially_failed'),
  CLAIM,
  report(2, 'partially_failed'),
);
story(
  'disabled nodes do not count',
  sequence(DISABLED, parallel(DISABLED, DISABLED), parallel(), TASK, DISABLED),
  CLAIM,
  report(0),
);
story('nothing but disabled nodes', sequence(DISABLED, parallel(DISABLED), DISABLED));
story(
  'a retry runs what came later in the sequences again, and nothing else',
  sequence(parallel(tolerated(sequence(TASK, TASK)), TASK), TASK, DISABLED),
  CLAIM,
  report(0, 'failed'),
  report(2),
  CLAIM,
  report(3),
  RETRY_WORKFLOW,
  CLAIM,
  report(0),
  CLAIM,
  report(1),
  CLAIM,
  report(3),
);
story(
  'a retry of what a stop disabled is refused',
  sequence(TASK, TASK),
  CLAIM,
  report(0, 'failed'),
  operate('retry', 1),
  operate('retry', 0),
  CLAIM,
  report(0),
  CLAIM,
);
story(
  'a retry is refused while anything is open',
  parallel(TASK, TASK),
  CLAIM,
  report(0, 'failed'),
  operate('retry', 0),
  RETRY_WORKFLOW,
  report(1),
  RETRY_WORKFLOW,
);
story(
  'a generator that is tried again fills its container again',
  parallel(sequence(named(1, parallel()), TASK), GENERATOR),
  CLAIM,
  create(creation(1, TASK, 1)),
  CLAIM,
  report(2),
  report(1, 'failed'),
  CLAIM,
  report(0),
  RETRY_WORKFLOW,
  SEND_AGAIN,
  CLAIM,
  create(creation(1, TASK, 1)),
  report(1),
  CLAIM,
);
story(
  'a late message of an attempt before a retry keeps nothing open that its generator waits for',
  sequence(tolerated(named(1, parallel(TASK))), GENERATOR),
  CLAIM,
  report(0, 'failed'),
  CLAIM,
  report(1),
  RETRY_WORKFLOW,
  create(creation(1, TASK, 1)),
  CLAIM,
  report(0),
  report(2),
  CLAIM,
);
story(
  'a workflow that was canceled runs again',
  FAN_OUT,
  CLAIM,
  create(WORKER, WORKER),
  CANCEL_WORKFLOW,
  RETRY_WORKFLOW,
  CLAIM,
  report(0, 'succeeded', 0),
  CLAIM,
);
story(
  'nodes that come to a paused workflow wait',
  FAN_OUT,
  CLAIM,
  { type: 'pause_workflow', n: 0 },
  create(WORKER, creation(0, parallel(TASK, DISABLED), 1)),
  report(0),
  CLAIM,
  { type: 'resume_workflow', n: 0 },
  CLAIM,
);
story(
  'an attempt whose worker is lost goes on as the next one',
  FAN_OUT,
  { type: 'claim', limit: 1, lease_ms: 10_000 },
  create(WORKER),
  advance(31_000),
  CLAIM,
  create(WORKER),
  report(0, 'succeeded', 0),
  CLAIM,
);
story(
  'nodes come into a container of the same set',
  FAN_OUT,
  CLAIM,
  create(creation(0, named(2, sequence()), 1), creation(0, TASK, 2), creation(0, TASK, 2)),
  report(0),
  CLAIM,
);
story(
  'a workflow that ended while it was paused is paused once more',
  parallel(TASK),
  { type: 'pause_workflow', n: 0 },
  CANCEL_WORKFLOW,
  { type: 'pause_workflow', n: 0 },
  RETRY_WORKFLOW,
  CLAIM,
);
story(
  'a retry from here takes a task that succeeded, and what follows it',
  sequence(TASK, parallel(TASK, sequence(TASK, TASK)), TASK),
  CLAIM,
  report(0),
  operate('retry_after', 0),
  CLAIM,
  report(1),
  report(2),
  CLAIM,
  report(3),
  CLAIM,
  report(4),
  operate('retry_after', 2),
  CLAIM,
);
story(
  'a retry from here is refused where a generator has created nodes that it would create again',
  FAN_OUT,
  CLAIM,
  create(WORKER),
  report(0, 'succeeded', 1),
  COMPLETE,
  CLAIM,
  report(2),
  CLAIM,
  report(1),
  operate('retry_after', 0),
  operate('retry_after', 2),
  operate('retry_after', 1),
);
