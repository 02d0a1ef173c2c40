import type { JsonObject } from '@heddle/base/json';
import type { Logger } from '@heddle/base/log';
import { Redactor } from '@heddle/base/redactor';
import { messageOf } from '@heddle/base/thrown';
import { replaceSecrets, secretNamesIn } from '@heddle/base/vocabulary/secret-reference';
import { SecretRefusedError } from '@heddle/core/domain/secret';
import type { NamedSecrets, TaskArtifacts } from '@heddle/core/engine/port';
import { artifactsOfRun } from './run-artifacts.ts';
import { checkInput, type CheckedInput } from './check-input.ts';
import { Completion, reasonOf, RESULT_BYTES_MAX } from './completion.ts';
import { toJson } from './json-value.ts';
import { kindLogger } from './kind-logger.ts';
import { redactedCompletion, redactedLogger } from './redacted-run.ts';
import { NodeEmitter, type NodeSink } from './node-emitter.ts';
import {
  FinalFailure,
  PartialFailure,
  type EarlierResult,
  type KindContext,
  type KindDefinition,
  type KindTask,
  type Node,
  type Parent,
  type Placed,
} from '@heddle/kit';
import { isNode, isPlaced } from '@heddle/kit/nodes';
import { CommandFailure } from '../../kinds/definition/command-failure.ts';
import { TaskSuccess } from '../../kinds/definition/task-success.ts';
import { ResultWithNotification } from '../../kinds/definition/result-with-notification.ts';
import type { ResultReader } from './result-stream.ts';

/** What the worker provides for a run. */
export interface RunHost {
  /** Read only if the handler uses it: listeners are notified of cancellation. */
  readonly signal: AbortSignal;
  /** Aborts when another of the task's runners is lost; absent if there is no other. */
  readonly runnerLost?: AbortSignal;
  readonly log: Logger;
  readonly output: (stream: 'stdout' | 'stderr', text: string) => void;
  readonly progress: (successes: number, failures: number) => Promise<unknown>;
  /** W3C trace context of the run; null without a trace. */
  readonly traceparent: string | null;
}

/** Destination of nodes and source of results. */
export interface RunPorts {
  readonly nodes: NodeSink;
  readonly results: ResultReader;
  /** Null or absent: inputs that name secrets are passed on as they are. */
  readonly secrets?: Pick<NamedSecrets, 'use'> | null;
  /** Null or absent: this process cannot store files. */
  readonly artifacts?: TaskArtifacts | null;
}

/**
 * Runs one attempt of a task of a defined kind: checks its input, runs the handler, sends the nodes that it creates.
 * Never throws: every failure becomes the completion. Returns without a promise if the handler does.
 */
export function runKind(
  definition: KindDefinition,
  task: KindTask,
  host: RunHost,
  ports: RunPorts,
): Completion | Promise<Completion> {
  return new KindRun(definition, task, host, ports).start();
}

class KindRun implements KindContext {
  readonly task: KindTask;
  readonly #definition: KindDefinition;
  readonly #host: RunHost;
  readonly #ports: RunPorts;
  #emitter: NodeEmitter | undefined;
  #runnerLost: AbortSignal | undefined;
  /** Null if its input names no secret. */
  #redactor: Redactor | null = null;
  #log: KindContext['log'] | undefined;
  #artifacts: KindContext['artifacts'] | undefined;

  constructor(definition: KindDefinition, task: KindTask, host: RunHost, ports: RunPorts) {
    this.#definition = definition;
    this.task = task;
    this.#host = host;
    this.#ports = ports;
  }

  get attempt(): number {
    return this.task.attempt;
  }

  get signal(): AbortSignal {
    return this.#host.signal;
  }

  get runnerLost(): AbortSignal {
    return (this.#runnerLost ??= this.#host.runnerLost ?? new AbortController().signal);
  }

  get log(): KindContext['log'] {
    const { log } = this.#host;
    return (this.#log ??= kindLogger(this.#redactor === null ? log : redactedLogger(log, this.#redactor)));
  }

  get output(): KindContext['output'] {
    const { output } = this.#host;
    return this.#redactor === null ? output : (stream, text) => output(stream, this.redact(text));
  }

  get artifacts(): KindContext['artifacts'] {
    return (this.#artifacts ??= artifactsOfRun(this.#ports.artifacts ?? null, this.task));
  }

  get redact(): KindContext['redact'] {
    return (text) => this.#redactor?.text(text) ?? text;
  }

  get traceparent(): string | null {
    return this.#host.traceparent;
  }

  // Separate functions, so that handlers may destructure the context.

  get progress(): KindContext['progress'] {
    return async (successes, failures = 0) => {
      await this.#host.progress(successes, failures);
    };
  }

  get results(): KindContext['results'] {
    return <Data>() => this.#results() as AsyncIterable<EarlierResult<Data>>;
  }

  get emit(): KindContext['emit'] {
    return async (node: Node, place?: { parent?: Parent; key?: string }) => this.#add(node, place);
  }

  start(): Completion | Promise<Completion> {
    const { secrets } = this.#ports;
    const names = secrets === undefined || secrets === null ? [] : secretNamesIn(this.task.input);
    return names.length === 0 ? this.#check(this.task.input) : this.#startWithSecrets(secrets!, names);
  }

  async #startWithSecrets(secrets: Pick<NamedSecrets, 'use'>, names: readonly string[]): Promise<Completion> {
    const { id: task_id, kind: grantee, attempt, input } = this.task;
    try {
      const values = await secrets.use(names, { grantee, task_id, attempt });
      this.#redactor = new Redactor(values.values());
      return redactedCompletion(await this.#check(replaceSecrets(input, values)), this.#redactor);
    } catch (error) {
      return failed(error instanceof SecretRefusedError ? new FinalFailure(error.message) : error, this.redact);
    }
  }

  #check(input: JsonObject): Completion | Promise<Completion> {
    try {
      const checked = checkInput(this.#definition.schema, input);
      if (!(checked instanceof Promise)) return this.#begin(checked);
      return checked.then((each) => this.#begin(each)).catch((error: unknown) => failed(error, this.redact));
    } catch (error) {
      return failed(error, this.redact);
    }
  }

  #begin(checked: CheckedInput): Completion | Promise<Completion> {
    if (checked.fault !== undefined) return new Completion('failed', { reason: checked.fault, final: true });
    try {
      const returned = this.#definition.run(checked.value as never, this);
      if (isThenable(returned)) return this.#settleLater(returned);
      if (this.#emitter === undefined && !this.#definition.generator && !makesNodes(returned)) return ended(returned);
      return this.#settleLater(returned);
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #settleLater(returned: unknown): Promise<Completion> {
    try {
      const value = await returned;
      const result = await this.#takeNodes(value);
      if (this.#emitter === undefined && !this.#definition.generator) return ended(result);
      const expected = (await this.#emitter?.close()) ?? 0;
      return ended(result, expected);
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<Completion> {
    await this.#emitter?.abandon();
    return failed(error, this.redact);
  }

  /** Consumes the nodes that the handler returned; resolves with the task's result. */
  async #takeNodes(value: unknown): Promise<unknown> {
    if (isPlaced(value) || isNode(value)) return this.#takeNodes([value]);
    if (Array.isArray(value) && (this.#definition.generator || makesNodes(value))) {
      for (const node of value as unknown[]) await this.#add(node as Node | Placed);
      return undefined;
    }
    return isIterator(value) ? this.#iterate(value) : value;
  }

  async #iterate(iterator: NodeIterator): Promise<unknown> {
    const { signal } = this.#host;
    let over = false;
    try {
      for (;;) {
        const step = await iterator.next();
        if (step.done === true) {
          over = true;
          return step.value;
        }
        await this.#add(step.value as Node | Placed);
        signal.throwIfAborted();
      }
    } finally {
      // As `for await` does: the generator may have to release resources.
      if (!over) await iterator.return?.();
    }
  }

  #add(node: Node | Placed, place?: { parent?: Parent; key?: string }): Promise<void> | undefined {
    this.#emitter ??= new NodeEmitter({
      generatorId: this.task.id,
      attempt: this.task.attempt,
      sink: this.#ports.nodes,
    });
    return this.#emitter.add(node, place);
  }

  #results(): AsyncIterable<EarlierResult> {
    const { signal } = this.#host;
    return this.#ports.results.stream(this.task.id, signal);
  }
}

interface NodeIterator {
  next(): IteratorResult<unknown> | Promise<IteratorResult<unknown>>;
  return?(): unknown;
}

function isIterator(value: unknown): value is NodeIterator {
  if (typeof value !== 'object' || value === null || !('next' in value) || typeof value.next !== 'function')
    return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** Returns whether the handler's return value is nodes rather than a result. */
function makesNodes(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((each) => isNode(each) || isPlaced(each));
  return isNode(value) || isPlaced(value) || isIterator(value);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function ended(value: unknown, expected?: number): Completion {
  if (value instanceof TaskSuccess) return new Completion('succeeded', value);
  if (value instanceof ResultWithNotification) return notified(value);
  if (value === undefined) return new Completion('succeeded', { expected_created: expected });
  try {
    const result = toJson(value, 'the result', RESULT_BYTES_MAX);
    return new Completion('succeeded', { result, expected_created: expected });
  } catch (error) {
    return failed(error);
  }
}

function notified({ result, actions, oncePerWorkflow }: ResultWithNotification): Completion {
  try {
    const notices = { actions, once_per_workflow: oncePerWorkflow };
    return new Completion('succeeded', { result: toJson(result, 'the result', RESULT_BYTES_MAX), notices });
  } catch (error) {
    return failed(error);
  }
}

/** @param redact applied before the reason is cut, so that no part of a secret remains */
function failed(error: unknown, redact: (text: string) => string = (text) => text): Completion {
  const reason = reasonOf(redact(messageOf(error)));
  if (isFinalFailure(error)) return new Completion('failed', { reason, final: true });
  if (error instanceof CommandFailure) {
    return new Completion('failed', { reason, exit_code: error.exitCode ?? undefined });
  }
  if (!isPartialFailure(error)) return new Completion('failed', { reason });
  if (error.result === undefined) return new Completion('partially_failed', { reason });
  try {
    return new Completion('partially_failed', { reason, result: toJson(error.result, 'the result', RESULT_BYTES_MAX) });
  } catch (fault) {
    return new Completion('failed', { reason: reasonOf(`${reason}; ${reasonOf(fault)}`) });
  }
}

function isFinalFailure(error: unknown): boolean {
  return error instanceof FinalFailure || (error instanceof Error && error.name === 'FinalFailure');
}

/** By name as well: a module may have its own copy of this package. */
function isPartialFailure(error: unknown): error is PartialFailure {
  return error instanceof PartialFailure || (error instanceof Error && error.name === 'PartialFailure');
}
