/** Messages that are of no use to anybody, each with what its fault says. */
import { readFileSync } from 'node:fs';

export interface BadMessage {
  readonly name: string;
  readonly body: string;
  readonly fault: string;
}

function read(file: string): BadMessage[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as BadMessage[];
}

/** They are no message of a runner. */
export const MALFORMED = read('malformed-messages.json');

/** They are one, and their runner is not what its class says, or its time is over. */
export const UNUSABLE = read('unusable-messages.json');
