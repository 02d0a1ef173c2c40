import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { engineOutput } from './engine-command.ts';
import type { ContainerOptions } from './options.ts';

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
    const removed = await engineOutput(container, removalArguments(container, [this.#name]), clock);
    // A container that ended by itself may have been removed by the engine.
    if (removed.killed) log.error({ container: this.#name }, 'could not remove a container in time');
  }
}

/** Returns the arguments that remove containers, whatever runs in them. */
export function removalArguments({ command }: Pick<ContainerOptions, 'command'>, names: readonly string[]): string[] {
  // Podman would wait ten seconds for each to end by itself.
  const atOnce = command?.endsWith('podman') === true ? ['--time', '0'] : [];
  return ['rm', '--force', ...atOnce, ...names];
}
