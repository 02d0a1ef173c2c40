import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';

/** Databases of a test that dies at many points: each takes one point after the other. */
export class Lanes {
  readonly #count: number;
  readonly #maxSize: number;
  readonly #all: TestDatabase[] = [];
  readonly #free: TestDatabase[] = [];

  /** @param maxSize connections of each */
  constructor(count: number, maxSize: number) {
    this.#count = count;
    this.#maxSize = maxSize;
  }

  async open(): Promise<void> {
    for (let lane = 0; lane < this.#count; lane += 1) await this.#add();
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((lane) => lane.drop()));
  }

  /** Runs on a lane that no one else has; no more at once than there are. */
  async on(run: (lane: TestDatabase) => Promise<void>): Promise<void> {
    const lane = this.#free.pop()!;
    try {
      await run(lane);
      this.#free.push(lane);
    } catch (error) {
      // What the failure left behind must not fail the next point.
      await this.#add();
      throw error;
    }
  }

  async #add(): Promise<void> {
    const lane = await createTestDatabase({ maxSize: this.#maxSize });
    this.#all.push(lane);
    this.#free.push(lane);
  }
}
