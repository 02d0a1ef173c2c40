import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { ReportedModel } from '@heddle/core/domain/model-record';
import type { DnsRecord } from '@heddle/recon/records';
import { fitted, LIST_MAX, sorted } from './fitted.ts';

const ANSWERS = ['a', 'aaaa', 'cname', 'mx', 'ns', 'txt', 'soa', 'srv', 'caa', 'ptr'] as const;

/**
 * Converts an answer to models: a name with answers of a type. TTL and resolver are omitted and answers sorted, since
 * these differ between runs.
 */
export function modelsOfName(record: DnsRecord): ReportedModel[] {
  const { host, query_type, status_code, wildcard } = record;
  const answers: JsonObject = {};
  for (const member of ANSWERS) {
    const given = record[member];
    if (given === undefined || (Array.isArray(given) && given.length === 0)) continue;
    answers[member] = inOrder(given as unknown as JsonValue[]);
  }
  if (status_code !== 'NOERROR' || Object.keys(answers).length === 0) return [];
  const data = { name: host, type: query_type, ...answers, ...(wildcard === true ? { wildcard } : {}) };
  return [{ model: 'name', key: `${host}/${query_type}`, data: fitted(data) }];
}

function inOrder(answers: readonly JsonValue[]): JsonValue[] {
  if (answers.every((answer) => typeof answer === 'string')) return sorted(answers);
  const texts = answers.map((answer) => JSON.stringify(answer));
  return sorted(texts)
    .slice(0, LIST_MAX)
    .map((text) => JSON.parse(text) as JsonValue);
}
