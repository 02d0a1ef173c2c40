/** Unusable messages, each with its fault. */
import { readFileSync } from 'node:fs';

export interface BadMessage {
  readonly name: string;
  readonly body: string;
  readonly fault: string;
}

function read(file: string): BadMessage[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as BadMessage[];
}

/** Malformed messages. */
export const MALFORMED = read('malformed-messages.json');

/** Well-formed messages whose runner does not match its class or has expired. */
export const UNUSABLE = read('unusable-messages.json');
