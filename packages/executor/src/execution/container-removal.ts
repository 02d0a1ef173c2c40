import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { engineCommand } from './engine-command.ts';
import type { ContainerOptions } from './options.ts';

const REMOVE_MS_MAX = 30_000;

interface RemovalParts {
  readonly container: Required<ContainerOptions>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Removes a container through its engine, because killing the client leaves it running. */
export class ContainerRemoval {
  readonly #parts: RemovalParts;
  readonly #name: string;
  #removed: Promise<void> | null = null;

  constructor(parts: RemovalParts, name: string) {
    this.#parts = parts;
    this.#name = name;
  }

  /** Removes the container once, however often it is called; never rejects. */
  begin(): Promise<void> {
    this.#removed ??= this.#remove();
    return this.#removed;
  }

  async #remove(): Promise<void> {
    const { container, clock, log } = this.#parts;
    // Podman would wait ten seconds for it to end by itself.
    const atOnce = container.command.endsWith('podman') ? ['--time', '0'] : [];
    const child = engineCommand(container, ['rm', '--force', ...atOnce, this.#name]);
    const cancel = clock.after(REMOVE_MS_MAX, () => child.kill('SIGKILL'));
    const code = await new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(null));
      child.once('close', resolve);
    });
    cancel();
    // Containers that ended by themselves were removed by the engine.
    if (code === null) log.error({ container: this.#name }, 'could not remove a container in time');
  }
}
