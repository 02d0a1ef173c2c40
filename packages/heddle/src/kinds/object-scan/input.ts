import type { GivenSettings } from '@heddle/base/vocabulary/task-fields';
import { TARGET_CHARACTERS_MAX } from '@heddle/core/domain/finding';
import type { JsonObject } from '@heddle/base/json';
import type { Members } from '@heddle/base/parse/members';
import { readRetry } from '@heddle/core/domain/parse/retry';
import { readSettings, SETTING_MEMBERS } from '@heddle/core/domain/parse/settings';
import { COMPLETION_POLICIES, type CompletionPolicy } from '@heddle/base/vocabulary/workflow';
import type { SourceSpec } from '@heddle/scan/options';
import type { RetryOptions } from '@heddle/kit';
import { readScanSettings, type ScanSettings } from './settings.ts';
import { objectMember, schemaOf } from '../definition/input-schema.ts';
import { readSources } from './sources.ts';

export const SCAN_KIND = 'ObjectScan';
export const GENERATOR_KIND = 'ObjectScanGenerator';
export const AGGREGATOR_KIND = 'ObjectScanAggregator';

const MIB = 1024 * 1024;
const TASKS_MAX = 100_000;

/** Maximum size of one task, and maximum number of tasks; the last one takes the rest. */
export interface Partition {
  objects_max: number;
  bytes_max: number;
  tasks_max: number;
}

/** Options of the created tasks besides their input. */
export interface MadeTask extends GivenSettings<'tree'> {
  policy: CompletionPolicy;
  retry?: RetryOptions;
}

export interface ScanInput {
  sources: SourceSpec[];
  settings: ScanSettings;
}

export interface GeneratorInput extends ScanInput {
  partition: Partition;
  /** The container of the tasks; null: the generator's own. */
  into: string | null;
  task: MadeTask;
  /** As submitted, for the created tasks. */
  options: JsonObject;
}

export interface AggregatorInput {
  target: string;
  /** Only keeps what providers said of findings that the target has: this is no run of it. */
  verdicts: boolean;
}

const PARTITION_DEFAULT: Partition = { objects_max: 5_000, bytes_max: 512 * MIB, tasks_max: 1_000 };

export const scanSchema = schemaOf<ScanInput, JsonObject>((input) => {
  input.refuseOthers(['sources', 'options']);
  return { sources: readSources(input), settings: readScanSettings(objectMember(input, 'options')) };
});

export const generatorSchema = schemaOf<GeneratorInput, JsonObject>((input) => {
  input.refuseOthers(['sources', 'options', 'partition', 'into', 'task']);
  return {
    sources: readSources(input),
    settings: readScanSettings(objectMember(input, 'options')),
    partition: readPartition(objectMember(input, 'partition')),
    into: input.text('into', 255),
    task: readMadeTask(objectMember(input, 'task')),
    options: (input.raw('options') ?? {}) as JsonObject,
  };
});

export const aggregatorSchema = schemaOf<AggregatorInput, JsonObject>((input) => {
  input.refuseOthers(['target', 'verdicts']);
  input.requireAll('target');
  return {
    target: input.text('target', TARGET_CHARACTERS_MAX) ?? '',
    verdicts: input.boolean('verdicts') ?? false,
  };
});

function readPartition(partition: Members | null): Partition {
  if (partition === null) return PARTITION_DEFAULT;
  partition.refuseOthers(['objects_max', 'bytes_max', 'tasks_max']);
  return {
    objects_max: partition.integer('objects_max', 1, 10_000_000) ?? PARTITION_DEFAULT.objects_max,
    bytes_max: partition.integer('bytes_max', 1, Number.MAX_SAFE_INTEGER) ?? PARTITION_DEFAULT.bytes_max,
    tasks_max: partition.integer('tasks_max', 1, TASKS_MAX) ?? PARTITION_DEFAULT.tasks_max,
  };
}

function readMadeTask(task: Members | null): MadeTask {
  if (task === null) return { policy: 'ContinueOnFailure' };
  task.refuseOthers(['policy', ...SETTING_MEMBERS, 'retry']);
  const policy = task.oneOf('policy', COMPLETION_POLICIES) ?? 'ContinueOnFailure';
  // Only validated here: it is passed on unchanged.
  const retry = readRetry(task) === null ? null : (task.raw('retry') as RetryOptions);
  return {
    policy,
    ...readSettings(task),
    ...(retry === null ? {} : { retry }),
  };
}
