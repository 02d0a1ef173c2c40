import { SharedTurns } from './turn.ts';

/** Of this process: all of its sliced work takes turns. */
const turns = new SharedTurns();

export interface SlicedWorkOptions {
  /** Steps after which there is nothing left to spend; without it there is no end. */
  steps_max?: number;
  /** Steps after which others get a turn. */
  slice_steps: number;
  /** Resolves when the next slice may begin; by default on a turn of the event loop that no other work has. */
  turn?: () => Promise<void>;
}

/** Counts the steps of a piece of work and cuts it into slices, so that everything else in the process goes on. */
export class SlicedWork {
  readonly steps_max: number;
  readonly #sliceSteps: number;
  readonly #turn: () => Promise<void>;
  #spent = 0;
  /** Spent when the slice under way ends; the first slice waits for its turn like any other. */
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

  /** Whether `nextSlice` is to be awaited before the work goes on. */
  get isSliceOver(): boolean {
    return this.#spent >= this.#sliceEndsAt;
  }

  /** Steps until the slice under way is over. */
  get leftInSlice(): number {
    return Math.max(0, this.#sliceEndsAt - this.#spent);
  }

  spend(steps: number): void {
    this.#spent += steps;
  }

  /** The budget of a part of the work: what it spends is spent here, too. */
  part(steps_max: number): SlicedPart {
    return new SlicedPart(this, steps_max);
  }

  async nextSlice(): Promise<void> {
    await this.#turn();
    this.#sliceEndsAt = this.#spent + this.#sliceSteps;
  }
}

/** A part of sliced work, with a bound of its own. */
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
