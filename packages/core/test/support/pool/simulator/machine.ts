import { RunnerAgent } from '../../../../src/pool/agent/agent.ts';
import type { Orders, RunnerStore } from '../../../../src/pool/port/store.ts';
import { silentLogger } from '@heddle/base/log';
import type { Chronicle } from './chronicle.ts';
import type { Cloud, Instance } from './cloud.ts';
import type { Dice } from './dice.ts';
import type { Engine } from './engine.ts';
import { Mortal, type Perils } from './mortal.ts';
import type { VirtualClock } from '@heddle/base/clock';

export interface MachineOptions {
  readonly instance: Instance;
  readonly store: RunnerStore;
  readonly engine: Engine;
  readonly cloud: Cloud;
  readonly clock: VirtualClock;
  readonly dice: Dice;
  readonly chronicle: Chronicle;
  perils(): Perils;
}

const WORK_MAX_MS = 20_000;
/** Time from the notice of an interruption to the end of the machine. */
const NOTICE_MS = 20_000;

/** An instance with its agent. */
export class Machine {
  readonly #options: MachineOptions;
  readonly #mortal: Mortal;
  readonly #agent: RunnerAgent;
  /** Until when its calls are lost. */
  #cutOffUntil = 0;
  /** The claim that it works for. */
  #epoch: number | null = null;

  constructor(options: MachineOptions) {
    this.#options = options;
    const { instance, store, clock, dice, chronicle } = options;
    const { provider_id, runner_id, batch_id, isNamed } = instance;
    this.#mortal = new Mortal({
      ...{ clock, dice },
      perils: () => this.#perils(),
      onDeath: (where) => {
        chronicle.note(`machine ${provider_id} died ${where}`);
        options.cloud.end(provider_id);
        void this.#agent.stop();
      },
    });
    this.#agent = new RunnerAgent({
      connection: this.#mortal.line(store, 'agent'),
      registration: { runner_id: isNamed ? runner_id : null, batch_id, provider_id, address: null },
      ...{ clock, log: silentLogger },
      onClaimed: (orders) => this.#start(orders),
      onRevoked: (epoch) => this.#end(epoch),
      onEnd: (reason) => this.kill(`by itself: ${reason}`),
    });
  }

  get runnerId(): string | null {
    return this.#agent.orders?.runner_id ?? null;
  }

  start(): void {
    this.#agent.start();
  }

  kill(why: string): void {
    this.#mortal.kill(why);
  }

  wake(): void {
    if (!this.#mortal.isDead) this.#agent.wake();
  }

  cutOff(ms: number): void {
    this.#cutOffUntil = this.#options.clock.now() + ms;
  }

  /** The provider announces an interruption. */
  interrupt(): void {
    if (this.#mortal.isDead) return;
    const { engine, clock } = this.#options;
    const hadTask = this.runnerId !== null && engine.interrupt(this.runnerId);
    void this.#agent.drain('interrupted');
    // A holder notices when the runner is lost.
    if (hadTask && this.#epoch !== null) this.#done(this.#epoch);
    clock.after(NOTICE_MS, () => this.kill('interrupted'));
  }

  #perils(): Perils {
    const perils = this.#options.perils();
    return this.#options.clock.now() < this.#cutOffUntil ? { ...perils, failure: 1 } : perils;
  }

  #start(orders: Orders): void {
    const { chronicle } = this.#options;
    if (this.#mortal.isDead) throw this.#options.chronicle.violation('a dead machine works');
    if (this.#epoch !== null)
      throw this.#options.chronicle.violation(`runner ${orders.runner_id} works for two claims`);
    this.#epoch = orders.epoch;
    if (orders.task_id !== null) this.#run(orders, orders.task_id).catch((error: unknown) => chronicle.fail(error));
  }

  async #run(orders: Orders, taskId: string): Promise<void> {
    const { engine, clock, dice } = this.#options;
    // Otherwise the sweep ends the claim, as it does for tasks that wait for other runners.
    if (!(await engine.start(orders))) return;
    await clock.sleep(dice.between(500, WORK_MAX_MS));
    if (this.#mortal.isDead || this.#epoch !== orders.epoch) return;
    engine.finish(taskId, orders.runner_id, orders.epoch);
    this.#done(orders.epoch);
  }

  #done(epoch: number): void {
    this.#end(epoch);
    void this.#agent.finish(epoch);
  }

  #end(epoch: number): void {
    if (this.#epoch === epoch) this.#epoch = null;
  }
}
