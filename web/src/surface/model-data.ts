/** Reads a model's data, whose shape is up to scans and workflows. */
import type { Model } from '@heddle/client';

export type ModelData = Model['data'];

export function textOf(data: ModelData, member: string): string | null {
  const value = data[member];
  return typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : null;
}

export function textsOf(data: ModelData, member: string): string[] {
  const value = data[member];
  if (!Array.isArray(value)) return [];
  return value.filter((each) => typeof each === 'string' || typeof each === 'number').map(String);
}

/** Members of answers in zone file order; an answer without members is a string. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  a: [],
  aaaa: [],
  cname: [],
  mx: ['preference', 'exchange'],
  ns: [],
  txt: [],
  soa: ['mname', 'rname', 'serial', 'refresh', 'retry', 'expire', 'minimum'],
  srv: ['priority', 'weight', 'port', 'target'],
  caa: ['flags', 'tag', 'value'],
  ptr: [],
};

/** Formats the answers to a name as in zone files. */
export function answersOf(data: ModelData): string[] {
  return Object.entries(ANSWERS).flatMap(([type, members]) => {
    const value = data[type];
    const answers = Array.isArray(value) ? (value as unknown[]) : value === undefined || value === null ? [] : [value];
    return answers.map((answer) => answerText(answer, members));
  });
}

function answerText(answer: unknown, members: readonly string[]): string {
  if (typeof answer !== 'object' || answer === null) return valueText(answer);
  return members.map((member) => valueText((answer as Record<string, unknown>)[member])).join(' ');
}

/** Formats a value of a change to fit a cell. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.join(', ') || '–';
  return JSON.stringify(value);
}
