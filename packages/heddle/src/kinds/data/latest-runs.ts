import type { ModelFilter, TrackedModel } from '@heddle/core/domain/model-record';
import type { Models } from '@heddle/core/engine/port';

/**
 * Returns what the latest run for a sort of model changed: one scan of a target is several runs, for ports, names and
 * TLS. Loads them once, on first use.
 */
export class LatestRuns {
  readonly #models: Models;
  readonly #of: Pick<ModelFilter, 'target' | 'model'>;
  #latest: Promise<ReadonlyMap<string, number>> | undefined;

  constructor(models: Models, of: Pick<ModelFilter, 'target' | 'model'>) {
    this.#models = models;
    this.#of = of;
  }

  async changed({ target, model, changed_run }: TrackedModel): Promise<boolean> {
    const latest = await (this.#latest ??= this.#read());
    // A run that began meanwhile is a later one, and its changes are no older.
    return changed_run >= (latest.get(nameOf(target, model)) ?? 0);
  }

  async #read(): Promise<ReadonlyMap<string, number>> {
    const runs = await this.#models.latestRuns(this.#of);
    return new Map(runs.map(({ target, model, number }) => [nameOf(target, model), number]));
  }
}

function nameOf(target: string, model: string): string {
  return JSON.stringify([target, model]);
}
