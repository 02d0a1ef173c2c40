import type { TrackedModel } from '../../domain/model-record.ts';
import type { Models } from '../../engine/port.ts';

const PAGE_TARGETS = 500;

/** Tells what the latest run of each target changed. Targets are looked up once, when the first is asked for. */
export class LatestRuns {
  readonly #models: Models;
  #latest: Promise<ReadonlyMap<string, number>> | undefined;

  constructor(models: Models) {
    this.#models = models;
  }

  async changed({ target, changed_run }: TrackedModel): Promise<boolean> {
    const latest = await (this.#latest ??= this.#read());
    // A run that began meanwhile is a later one, and its changes are no older.
    return changed_run >= (latest.get(target) ?? 0);
  }

  async #read(): Promise<ReadonlyMap<string, number>> {
    const latest = new Map<string, number>();
    for (let offset = 0; ; offset += PAGE_TARGETS) {
      const page = await this.#models.targets({ offset, limit: PAGE_TARGETS });
      for (const { target, runs } of page) latest.set(target, runs);
      if (page.length < PAGE_TARGETS) return latest;
    }
  }
}
