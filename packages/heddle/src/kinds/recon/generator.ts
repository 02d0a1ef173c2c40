import { createHash } from 'node:crypto';

import { canonicalJson, type JsonObject } from '@heddle/base/json';
import type { TrackedModel } from '@heddle/core/domain/model-record';
import type { Models } from '@heddle/core/engine/port';
import type { AddressScope } from '@heddle/recon/targets/scope';
import { parseTargets, type TargetList } from '@heddle/recon/targets/target-list';
import type { Clock } from '@heddle/base/clock';
import {
  defineKind,
  into,
  type KindContext,
  type Node,
  parallel,
  type Placed,
  sequential,
  task,
  type TaskNode,
} from '@heddle/kit';
import type { StandardSchema } from '@heddle/base/standard-schema';
import type { ModelEndpoint, ModelTargets } from './aims.ts';
import { readModelTargets } from './from-models.ts';
import { seedOf, type GeneratorInput } from './generator-input.ts';
import type { ScanFamily } from './kind-names.ts';
import { endpointParts } from './parts.ts';
import { probeMembers } from './probe-input.ts';
import type { ReconPolicy } from './policy.ts';

export interface GeneratorOptions<Own> {
  family: ScanFamily;
  schema: StandardSchema<JsonObject, GeneratorInput<Own>>;
  policy: ReconPolicy;
  /** Null for a worker without a database: `from` needs one. */
  models: Pick<Models, 'list'> | null;
  clock: Clock;
  /** Derives targets from models. */
  targetReaderOf: (input: GeneratorInput<Own>) => (model: TrackedModel) => Partial<ModelTargets>;
  /** Divides targets into the inputs of tasks. */
  partsOf: (input: GeneratorInput<Own>, targets: TargetList, seed: number) => JsonObject[];
}

/** The targets of a scan within the scope. */
interface ScopedTargets {
  targets: TargetList;
  endpoints: ModelEndpoint[];
  hosts: number;
  refusedHosts: number;
  /** The first refusals as text. */
  refused: string[];
}

const WORKER_RETRY = { max_attempts: 2, backoff_secs: 5 };
const REASONS_MAX = 10;
const REASON_CHARACTERS_MAX = 500;

/**
 * Defines the kind that divides a scan into tasks and adds their aggregator. The tasks run concurrently in a container
 * of their own, followed by the aggregator. A task's key is derived from its targets: a second attempt with the same
 * targets creates the same tasks.
 */
export function scanGenerator<Own>(options: GeneratorOptions<Own>) {
  return defineKind({
    name: options.family.generator,
    input: options.schema,
    timeout_secs: 3600,
    generator: true,
    run: (input: GeneratorInput<Own>, context) => generate(options, input, context),
  });
}

async function* generate<Own>(
  options: GeneratorOptions<Own>,
  input: GeneratorInput<Own>,
  context: KindContext,
): AsyncGenerator<Node | Placed, JsonObject, undefined> {
  const seed = input.seed ?? seedOf(context.task.id);
  const scoped = await selectTargets(options, input, context);
  const { tasks_max } = input.division;
  const parts = [
    ...options.partsOf(input, scoped.targets, seed),
    ...endpointParts(scoped.endpoints, { tasks_max, seed }),
  ];
  if (parts.length > tasks_max) {
    throw new Error(
      `the scan needs ${parts.length} tasks, but at most ${tasks_max} are allowed; raise partition.tasks_max`,
    );
  }
  const tasks = parts.map((part, index) => taskOf(options, input, context, part, { index, count: parts.length }));
  const aggregator = aggregatorOf(options, input, scoped, tasks.length);
  if (input.into === null) {
    const side = parallel([], { key: 'tasks', policy: 'ContinueOnFailure' });
    yield sequential(aggregator === null ? [side] : [side, aggregator], { key: 'scan', policy: input.policy });
    for (const each of tasks) yield into(side, each);
  } else {
    for (const each of tasks) yield into(input.into, each);
    if (aggregator !== null) yield aggregator;
  }
  const { hosts, refusedHosts, refused } = scoped;
  return { tasks: tasks.length, hosts, seed, refused_hosts: refusedHosts, refused };
}

/** @throws Error if the scope allows none of the targets */
async function selectTargets<Own>(
  options: GeneratorOptions<Own>,
  input: GeneratorInput<Own>,
  { signal, progress }: KindContext,
): Promise<ScopedTargets> {
  const scope = options.policy.scopeOf(input.settings);
  const { from } = input;
  if (from !== null && options.models === null) throw new Error('`from` needs a database, and this worker has none');
  const selected =
    from === null
      ? { targets: [...input.targets], endpoints: [] }
      : await readModelTargets({
          models: options.models!,
          from,
          targetsOf: options.targetReaderOf(input),
          now: options.clock.now(),
          signal,
          read: (count) => progress(count),
        });
  const all = parseTargets(selected.targets, { exclude: input.settings.exclude });
  const { targets, refused, refusedHosts } = all.within(scope);
  const reasons = refused.map(({ target, reason }) => `${target}: ${reason}`);
  const endpoints = selected.endpoints.filter((endpoint) => allows(scope, all, endpoint, reasons));
  const refusedEndpoints = reasons.length - refused.length;
  const scoped = {
    targets,
    endpoints,
    hosts: targets.size + endpoints.length,
    refusedHosts: Number(refusedHosts) + refusedEndpoints,
    refused: reasons.slice(0, REASONS_MAX).map((reason) => reason.slice(0, REASON_CHARACTERS_MAX)),
  };
  if (scoped.hosts === 0 && scoped.refusedHosts > 0) throw new Error(`nothing may be probed: ${scoped.refused[0]!}`);
  return scoped;
}

function allows(
  scope: AddressScope,
  targets: TargetList,
  { host, ip, port }: ModelEndpoint,
  reasons: string[],
): boolean {
  if (targets.excludes(ip)) return false;
  const verdict = scope.check(ip, host === ip ? null : host);
  if (!verdict.allowed) reasons.push(`${host} port ${port}: ${verdict.reason}`);
  return verdict.allowed;
}

function taskOf<Own>(
  { family }: GeneratorOptions<Own>,
  input: GeneratorInput<Own>,
  context: KindContext,
  part: JsonObject,
  place: { index: number; count: number },
): TaskNode {
  const key = createHash('sha256').update(canonicalJson(part)).digest('hex').slice(0, 32);
  const { parallelism } = input.division;
  const share = Math.min(parallelism, place.count);
  // Ports of one host may be divided too, in which case its rate is shared like the total rate.
  const { rate, host_rate } = input.settings;
  const shared = { rate: rate / share, host_rate: 'port_slice' in part ? host_rate / share : host_rate };
  const settings = probeMembers({ ...input.settings, ...shared });
  return task(
    family.scan,
    { scan: context.task.id, ...part, ...settings, ...input.passed },
    {
      key,
      name: place.count === 1 ? family.scan : `${family.scan} ${place.index + 1} of ${place.count}`,
      policy: 'ContinueOnFailure',
      retry: WORKER_RETRY,
      rules: [
        {
          type: 'Concurrency',
          matcher: { kind: family.scan, status: 'Running', fields: ['scan'] },
          max_concurrency: parallelism,
        },
      ],
      ...input.task,
    },
  );
}

function aggregatorOf<Own>(
  { family }: GeneratorOptions<Own>,
  input: GeneratorInput<Own>,
  { refused, refusedHosts }: ScopedTargets,
  tasks: number,
): TaskNode | null {
  if (input.target === null) return null;
  const more = refusedHosts > 1 ? ` (and ${refusedHosts - 1} more)` : '';
  const skipped = refused.length === 0 ? [] : [`${refused[0]!}${more}`];
  return task(
    family.aggregator,
    { target: input.target, tasks, ...(skipped.length === 0 ? {} : { skipped }) },
    { key: 'aggregator', name: family.aggregator, retry: { max_attempts: 3, backoff_secs: 1 } },
  );
}
