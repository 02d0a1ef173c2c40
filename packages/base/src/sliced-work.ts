import { SharedTurns } from './turn.ts';

/** Shared by this process: all of its sliced work takes turns. */
const turns = new SharedTurns();

export interface SlicedWorkOptions {
  /** Maximum steps; unlimited if absent. */
  steps_max?: number;
  /** Steps per slice. */
  slice_steps: number;
  /** Resolves when the next slice may begin; by default on a turn of the event loop that no other work uses. */
  turn?: () => Promise<void>;
}

/** Counts the steps of a piece of work and cuts it into slices, so that it does not block the process. */
export class SlicedWork {
  readonly steps_max: number;
  readonly #sliceSteps: number;
  readonly #turn: () => Promise<void>;
  #spent = 0;
  /** Steps spent when the current slice ends; the first slice waits for its turn like any other. */
  #sliceEndsAt = 0;

  constructor({ steps_max = Number.POSITIVE_INFINITY, slice_steps, turn = () => turns.next() }: SlicedWorkOptions) {
    this.steps_max = steps_max;
    this.#sliceSteps = slice_steps;
    this.#turn = turn;
  }

  get spent(): number {
    return this.#spent;
  }

  get left(): number {
    return Math.max(0, this.steps_max - this.#spent);
  }

  /** Whether `nextSlice` must be awaited before the work continues. */
  get isSliceOver(): boolean {
    return this.#spent >= this.#sliceEndsAt;
  }

  /** Steps left in the current slice. */
  get leftInSlice(): number {
    return Math.max(0, this.#sliceEndsAt - this.#spent);
  }

  spend(steps: number): void {
    this.#spent += steps;
  }

  /** Creates the budget of a part of the work; its steps count here too. */
  part(steps_max: number): SlicedPart {
    return new SlicedPart(this, steps_max);
  }

  async nextSlice(): Promise<void> {
    await this.#turn();
    this.#sliceEndsAt = this.#spent + this.#sliceSteps;
  }
}

/** Part of sliced work, with its own limit. */
export class SlicedPart {
  readonly #whole: SlicedWork;
  readonly #endsAt: number;

  constructor(whole: SlicedWork, steps_max: number) {
    this.#whole = whole;
    this.#endsAt = whole.spent + steps_max;
  }

  get left(): number {
    return Math.max(0, Math.min(this.#whole.left, this.#endsAt - this.#whole.spent));
  }

  get leftInSlice(): number {
    return this.#whole.leftInSlice;
  }

  spend(steps: number): void {
    this.#whole.spend(steps);
  }

  nextSlice(): Promise<void> {
    return this.#whole.nextSlice();
  }
}
