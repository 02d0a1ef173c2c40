import type { ModelFilter, TrackedModel } from '../../domain/model-record.ts';
import type { Models } from '../../engine/port.ts';

/**
 * Tells what the latest run changed that looked for models of a sort: one scan of a target is several runs, of ports, of
 * names and of TLS. They are looked up once, when the first is asked for.
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
