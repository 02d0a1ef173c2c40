import { setImmediate as afterInput } from 'node:timers';

export { setImmediate as eventLoopTurn } from 'node:timers/promises';

/** Runs `run` on the next turn of the event loop, after the messages and input that wait already. Keeps the process alive. */
export function onNextTurn(run: () => void): void {
  afterInput(run);
}
