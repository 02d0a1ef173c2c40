import assert from 'node:assert/strict';
import { HeddleError } from '@heddle/base/errors';
import {
  type Model,
  type ModelEvent,
  type Step,
  type WorkflowAnswer,
  type WorkflowOperation,
  emptyModel,
  judgeClaim,
  step,
} from '@heddle/test-support/model';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import type { Engine } from '../../../../src/engine/port.ts';
import { newId } from '@heddle/base/random';
import { TreeScript } from '../../domain/tree-play.ts';
import { buildTree } from '../../domain/tree-scenario.ts';
import type { TreeCommand, TreeScenario } from '../../domain/tree-scenario.ts';
import { CLAIM_TIMEOUT_MS } from './side-by-side.ts';
import type { Subject } from './side-by-side.ts';
import { treeDifferences } from './tree-differences.ts';

/** The engine and the model, moved by the same commands on trees; every step asserts that they agree. */
export class TreesSideBySide {
  readonly #subject: Subject;
  readonly #kind: string;
  readonly #script: TreeScript;
  readonly #story: string[] = [];
  #model: Model = emptyModel(CLAIM_TIMEOUT_MS);

  /** @param kind of the scenario's tasks: no other scenario shares its lane */
  constructor(subject: Subject, kind: string) {
    this.#subject = subject;
    this.#kind = kind;
    this.#script = new TreeScript(newId, kind);
  }

  async play(scenario: TreeScenario): Promise<void> {
    const trees = scenario.workflows.map((spec) => buildTree(spec, newId, this.#kind));
    let submitted = 0;
    try {
      for (const command of [{ type: 'submit' } as const, ...scenario.commands]) {
        if (command.type === 'submit' && submitted < trees.length) submitted += 1;
        await this.#play(command, trees[submitted - 1]!);
        await this.#agree();
      }
      await this.#drain();
    } catch (error) {
      throw new Error(`${(error as Error).message}\nafter:\n  ${this.#story.join('\n  ')}`, { cause: error });
    }
  }

  get #now(): number {
    return this.#subject.clock.now();
  }

  #apply(event: ModelEvent): Step {
    const after = step(this.#model, event, this.#now);
    this.#model = after.model;
    return after;
  }

  async #agree(): Promise<void> {
    const found = await treeDifferences(this.#subject.engine, this.#subject.database, this.#model);
    assert.deepEqual(found, [], `the database differs from the model:\n  ${found.join('\n  ')}`);
  }

  async #play(command: TreeCommand, tree: NewContainerNode): Promise<void> {
    switch (command.type) {
      case 'submit':
      case 'submit_again':
        await this.#submit(tree);
        break;
      case 'claim':
        await this.#claim(command.limit, command.lease_ms);
        break;
      case 'advance':
        await this.#advance(command.ms);
        break;
      case 'report':
      case 'decide':
      case 'report_all':
      case 'create':
      case 'complete':
      case 'heartbeat':
      case 'release':
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'retry':
      case 'retry_after':
      case 'cancel_workflow':
      case 'pause_workflow':
      case 'resume_workflow':
      case 'retry_workflow': {
        const event = this.#script.eventOf(this.#model, command);
        if (event !== null) await this.#transition(event);
      }
    }
  }

  async #submit(root: NewContainerNode): Promise<void> {
    const replayed = this.#model.containers.has(root.id);
    this.#story.push(`submit ${brief(root)}`);
    this.#apply({ type: 'submit_workflow', root });
    const submission = { name: null, root, traceparent: null, idempotency: null, job_run_id: null };
    const [result] = await this.#subject.engine.submitWorkflows([submission]);
    const workflow: string = root.id;
    assert.equal(result!.workflow_id, root.id);
    assert.equal(result!.replayed, replayed, 'whether it was stored before');
    assert.equal(
      result!.container_count,
      [...this.#model.containers.values()].filter(({ workflow_id }) => workflow_id === workflow).length,
    );
  }

  async #claim(limit: number, leaseMs: number | null): Promise<number> {
    const lanes = [`kind:${this.#kind}`];
    const claimed = await this.#subject.engine.claim({ lanes, limit, holder: 'property test', lease_ms: leaseMs });
    const ids = claimed.map(({ id }) => id);
    this.#story.push(`claim ${limit}, lease ${leaseMs ?? 'none'}: ${ids.join(', ')}`);
    const { faults } = judgeClaim(this.#model, lanes, limit, ids, this.#now);
    assert.deepEqual(faults, [], `a claim no correct engine makes:\n  ${faults.join('\n  ')}`);
    this.#apply({ type: 'claim', ids, into: 'running', lease_ms: leaseMs });
    for (const task of claimed) {
      const { attempt, place } = this.#model.tasks.get(task.id)!;
      assert.deepEqual([task.attempt, task.container_id], [attempt, place!.container_id]);
    }
    return ids.length;
  }

  async #advance(ms: number): Promise<void> {
    this.#story.push(`advance ${ms} ms`);
    await this.#subject.clock.advance(ms);
    for (let round = 0; ; round += 1) {
      const { promoted, requeued, timed_out, relayed } = await this.#subject.engine.sweep();
      if (promoted + requeued + timed_out + relayed === 0) break;
      assert.ok(round < 500, 'the sweep never finishes');
    }
    this.#apply({ type: 'expire' });
  }

  async #transition(event: ModelEvent): Promise<void> {
    this.#story.push(brief(event));
    const after = this.#apply(event);
    const { answers, expected } = await ask(this.#subject.engine, event, after);
    assert.deepEqual(answers, expected, `the answers to ${event.type}`);
  }

  /** Lets everything run to completion: whatever the scenario did, no task and no container may be stuck. */
  async #drain(): Promise<void> {
    const open = (): string[] =>
      [...this.#model.tasks.values()].filter((task) => !isTerminal(task.state)).map((task) => task.definition.id);
    for (const { parent_id, workflow_id } of [...this.#model.containers.values()]) {
      if (parent_id === null && open().some((task) => this.#model.tasks.get(task)!.workflow_id === workflow_id)) {
        await this.#transition({ type: 'resume_workflow', workflow_id });
      }
    }
    await this.#transition({ type: 'resume', ids: open() });
    for (let idle = 0; open().length > 0; idle += 1) {
      assert.ok(idle < 6, `stuck: ${open().join(', ')}`);
      await this.#advance(4_000_000);
      const claimed = await this.#claim(500, null);
      const reports = open().map((task_id) => ({ task_id, attempt: null, outcome: 'succeeded' as const }));
      await this.#transition({ type: 'report', reports });
      if (claimed > 0) idle = -1;
      await this.#agree();
    }
  }
}

/** With no more of each task than sets it apart. */
function brief(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key !== 'task') return inner;
    const { id, retry, timeout_secs } = inner as NewTask;
    return { id, ...(retry === null ? {} : { retry: retry.max_attempts }), timeout_secs };
  });
}

type Answers = Promise<{ answers: unknown; expected: unknown }>;

async function ask(engine: Engine, event: ModelEvent, after: Step): Answers {
  switch (event.type) {
    case 'report':
      return transitions(await engine.report(event.reports), after);
    case 'release':
      return transitions(await engine.release(event.tasks), after);
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'retry':
      return transitions(await engine[event.type](event.ids), after);
    case 'retry_after':
      return transitions(await engine.retry(event.ids, { after: true }), after);
    case 'create_nodes': {
      const results = await engine.createNodes(event.creations);
      return { answers: results.map(({ result }) => result), expected: after.creations };
    }
    case 'complete_generators':
      await engine.completeGenerators(1_000);
      return { answers: null, expected: null };
    case 'heartbeat':
      return { answers: await engine.heartbeat(event.beats), expected: after.heartbeats };
    case 'cancel_workflow':
    case 'pause_workflow':
    case 'resume_workflow':
    case 'retry_workflow':
      return { answers: await operate(engine, event.type, event.workflow_id), expected: after.workflow };
    case 'submit':
    case 'submit_workflow':
    case 'claim':
    case 'start':
    case 'try_start':
    case 'start_failed':
    case 'lose_delivery':
    case 'update':
    case 'progress':
    case 'expire':
      throw new Error(`${event.type} is not asked here`);
  }
}

function transitions(
  outcomes: readonly { task_id: string; result: string }[],
  after: Step,
): { answers: unknown; expected: unknown } {
  const lines = (list: typeof outcomes): string[] => list.map(({ task_id, result }) => `${task_id} ${result}`);
  return { answers: lines(outcomes), expected: lines(after.outcomes) };
}

async function operate(engine: Engine, operation: WorkflowOperation, id: string): Promise<WorkflowAnswer> {
  const verbs = {
    cancel_workflow: () => engine.cancelWorkflow(id),
    pause_workflow: () => engine.pauseWorkflow(id),
    resume_workflow: () => engine.resumeWorkflow(id),
    retry_workflow: () => engine.retryWorkflow(id),
  } satisfies Record<WorkflowOperation, () => Promise<number | null>>;
  try {
    return await verbs[operation]();
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'CONFLICT') return 'conflict';
    throw error;
  }
}
