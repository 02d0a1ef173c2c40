/** Kinds that record where they ran, as JSON lines in a file of the directory that each task names. */
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { defineKind, RunnersLost, type StandardSchema } from '@heddle/kit';

interface Input {
  directory: string;
}

const input: StandardSchema<Input> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Input }) },
};

const note = (directory: string, line: object): void =>
  appendFileSync(`${directory}/runs.jsonl`, `${JSON.stringify({ pid: process.pid, ...line })}\n`);

/** Ends at once. */
export const quick = defineKind({
  name: 'pool-quick',
  input,
  run({ directory }, { task }) {
    note(directory, { name: task.name, attempt: task.attempt, runners: task.runners.map(({ number }) => number) });
    return { pid: process.pid };
  },
});

/** Runs until the file `go-NAME` exists. */
export const patient = defineKind({
  name: 'pool-patient',
  input,
  async run({ directory }, { task, signal }) {
    note(directory, { name: task.name, attempt: task.attempt, runners: task.runners.map(({ number }) => number) });
    while (!existsSync(`${directory}/go-${task.name}`)) {
      signal.throwIfAborted();
      await sleep(20);
    }
    return { pid: process.pid };
  },
});

/** Runs until the file `go-NAME` exists, ignoring its signal. */
export const stubborn = defineKind({
  name: 'pool-stubborn',
  input,
  async run({ directory }, { task }) {
    note(directory, { name: task.name, attempt: task.attempt, runners: task.runners.map(({ number }) => number) });
    while (!existsSync(`${directory}/go-${task.name}`)) await sleep(20);
    return { pid: process.pid };
  },
});

/** Runs until another one of its runners is lost; its result lists the lost ones. */
export const gang = defineKind({
  name: 'pool-gang',
  input,
  async run({ directory }, { task, signal, runnerLost }) {
    note(directory, { name: task.name, attempt: task.attempt, runners: task.runners.map(({ number }) => number) });
    while (!runnerLost.aborted) {
      signal.throwIfAborted();
      await sleep(20);
    }
    const reason = runnerLost.reason as unknown;
    return { lost: reason instanceof RunnersLost ? reason.runners.map(({ number }) => number) : [] };
  },
});
