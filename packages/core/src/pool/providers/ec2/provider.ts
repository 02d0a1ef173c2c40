import type { EC2Client, Instance } from '@aws-sdk/client-ec2';

import {
  LaunchFailure,
  type LaunchBatch,
  type LaunchResult,
  type ProviderInstance,
  type RunnerProvider,
} from '../../port/provider.ts';
import { codeOf, launchFailure, MISMATCH } from './faults.ts';
import { ALIVE, describeInstances, instanceOf, ofBatch, ofPool } from './instances.ts';
import { createFleetInput, runInstancesInput, typesOf } from './requests.ts';
import type { Ec2Sdk } from './sdk.ts';
import type { Ec2Settings, Ec2Template } from './settings.ts';
import { updateTemplate, ownTemplate } from './template.ts';

const TERMINATE_MAX = 100;
/** Error of the service for IDs that it no longer knows, or does not know yet. */
const UNKNOWN = 'InvalidInstanceID.NotFound';

export interface Ec2ProviderOptions {
  readonly settings: Ec2Settings;
  readonly sdk: Ec2Sdk;
  readonly client: EC2Client;
}

interface Started {
  readonly provider_id: string;
  readonly instance_type: string;
}

/** Launches runners on EC2: a single runner of a fixed type with RunInstances, all others with an instant fleet. */
export class Ec2Provider implements RunnerProvider {
  readonly name = 'ec2';
  readonly #settings: Ec2Settings;
  readonly #sdk: Ec2Sdk;
  readonly #client: EC2Client;
  readonly #template: Ec2Template;
  /** Set when the template was checked before the first launch; reset after a failure. */
  #ready: Promise<unknown> | null = null;

  constructor({ settings, sdk, client }: Ec2ProviderOptions) {
    this.#settings = settings;
    this.#sdk = sdk;
    this.#client = client;
    this.#template = settings.template ?? ownTemplate(settings);
  }

  async launch(batch: LaunchBatch): Promise<LaunchResult> {
    try {
      await this.#prepare();
      const [type, ...others] = typesOf(this.#settings, batch);
      // Every try of a batch is the same call with the same token, so a retry never launches more.
      const isSingle = batch.runner_ids.length === 1 && type !== undefined && others.length === 0;
      return await (isSingle ? this.#launchOne(batch, type) : this.#launchFleet(batch));
    } catch (error) {
      throw launchFailure(error);
    }
  }

  async terminate(providerIds: readonly string[]): Promise<void> {
    for (let at = 0; at < providerIds.length; at += TERMINATE_MAX) {
      await this.#terminate(providerIds.slice(at, at + TERMINATE_MAX));
    }
  }

  async *list(): AsyncGenerator<readonly ProviderInstance[]> {
    for await (const page of describeInstances(this.#sdk, this.#client, [ofPool(this.#settings.pool), ALIVE])) {
      yield page.map(instanceOf).filter((instance) => instance !== null);
    }
  }

  async refresh(): Promise<string[]> {
    this.#ready = null;
    const line = await this.#prepare();
    return line === null ? [] : [line];
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }

  async #prepare(): Promise<string | null> {
    const { template, parameters } = this.#settings;
    if (template !== null || parameters === null) return null;
    const ready = (this.#ready ??= updateTemplate(this.#sdk, this.#client, this.#settings, parameters));
    try {
      return (await ready) as string | null;
    } catch (error) {
      this.#ready = null;
      throw error;
    }
  }

  async #launchOne(batch: LaunchBatch, type: string): Promise<LaunchResult> {
    try {
      const input = runInstancesInput(this.#settings, this.#template, batch, type);
      const answer = await this.#client.send(new this.#sdk.RunInstancesCommand(input));
      return resultOf(batch, startedOf(answer.Instances ?? []), null);
    } catch (error) {
      if (codeOf(error) === MISMATCH) return this.#adopt(batch, error);
      throw error;
    }
  }

  async #launchFleet(batch: LaunchBatch): Promise<LaunchResult> {
    try {
      const input = createFleetInput(this.#settings, this.#template, batch);
      const answer = await this.#client.send(new this.#sdk.CreateFleetCommand(input));
      const started = (answer.Instances ?? []).flatMap(({ InstanceIds = [], InstanceType: type }) =>
        InstanceIds.map((id) => ({ provider_id: id, instance_type: type ?? 'unknown' })),
      );
      const [first] = answer.Errors ?? [];
      const missing = first === undefined ? null : `${first.ErrorCode ?? 'Error'}: ${first.ErrorMessage ?? ''}`;
      if (started.length === 0) {
        throw launchFailure(Object.assign(new Error(missing ?? 'nothing was launched'), fleetError(first?.ErrorCode)));
      }
      return resultOf(batch, started, missing);
    } catch (error) {
      if (codeOf(error) === MISMATCH) return this.#adopt(batch, error);
      throw error;
    }
  }

  /** Finds the instances of an earlier try by their tags, after the settings changed between two tries. */
  async #adopt(batch: LaunchBatch, error: unknown): Promise<LaunchResult> {
    const found = await this.#startedBy(batch);
    // The token was used, so an empty listing is stale; abandoning the launch now would launch everything twice.
    if (found.length === 0)
      throw new LaunchFailure('unclear', 'the settings have changed since the first try of this launch', error);
    return resultOf(batch, found, null);
  }

  async #startedBy({ id }: LaunchBatch): Promise<Started[]> {
    const started: Started[] = [];
    const filters = [ofPool(this.#settings.pool), ofBatch(id), ALIVE];
    for await (const page of describeInstances(this.#sdk, this.#client, filters)) started.push(...startedOf(page));
    return started;
  }

  async #terminate(ids: readonly string[]): Promise<void> {
    let left = [...ids];
    while (left.length > 0) {
      try {
        await this.#client.send(new this.#sdk.TerminateInstancesCommand({ InstanceIds: left }));
        return;
      } catch (error) {
        // An unknown ID makes the service reject the whole call.
        const known = codeOf(error) === UNKNOWN ? left.filter((id) => !(error as Error).message.includes(id)) : left;
        if (known.length === left.length) throw error;
        left = known;
      }
    }
  }
}

/** An instant fleet that launched nothing succeeds with a list of errors; an empty list means no capacity. */
function fleetError(code: string | undefined): { name: string; $metadata: { httpStatusCode: number } } {
  return { name: code ?? 'InsufficientInstanceCapacity', $metadata: { httpStatusCode: 400 } };
}

function startedOf(instances: readonly Instance[]): Started[] {
  return instances.flatMap(({ InstanceId, InstanceType: type }) =>
    InstanceId === undefined ? [] : [{ provider_id: InstanceId, instance_type: type ?? 'unknown' }],
  );
}

/** Assigns instances in the order of their IDs, so that a replayed answer gives each runner the same instance. */
function resultOf(batch: LaunchBatch, started: readonly Started[], missing: string | null): LaunchResult {
  const ordered = [...started].sort((a, b) => (a.provider_id < b.provider_id ? -1 : 1));
  const launched = ordered.slice(0, batch.runner_ids.length).map(({ provider_id, instance_type }, index) => ({
    runner_id: batch.runner_ids[index]!,
    provider_id,
    instance_type,
    cpu: batch.cpu,
    memory_mib: batch.memory_mib,
  }));
  const lacking = batch.runner_ids.length - launched.length;
  return {
    launched,
    missing: lacking === 0 ? null : (missing ?? `${lacking} of ${batch.runner_ids.length} are missing`),
  };
}
