import { HeddleError } from '@heddle/base/errors';
import {
  MODEL_DATA_BYTES_MAX,
  MODEL_KEY_CHARACTERS_MAX,
  MODEL_NAME_MEANING,
  MODEL_NAME_PATTERN,
  type ReportedModel,
} from '../../domain/model-record.ts';

const NAME = new RegExp(MODEL_NAME_PATTERN);
const FAULTS_MAX = 20;

/** @throws HeddleError VALIDATION_FAILED listing the members that cannot be stored */
export function requireReportable(models: readonly ReportedModel[]): void {
  const faults: string[] = [];
  for (const [index, model] of models.entries()) {
    const fault = faultOf(model);
    if (fault !== null) faults.push(`models[${index}].${fault}`);
    if (faults.length >= FAULTS_MAX) break;
  }
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', faults[0], { details: faults });
}

function faultOf({ model, key, data }: Record<keyof ReportedModel, unknown>): string | null {
  if (typeof model !== 'string' || !NAME.test(model)) return `model: must be ${MODEL_NAME_MEANING}`;
  if (typeof key !== 'string' || key === '' || key.length > MODEL_KEY_CHARACTERS_MAX || !isText(key)) {
    return `key: must be a string of 1 to ${MODEL_KEY_CHARACTERS_MAX} characters without NUL`;
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return 'data: must be an object';
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) > MODEL_DATA_BYTES_MAX) {
    return `data: must have at most ${MODEL_DATA_BYTES_MAX / 1024} KiB of JSON (got ${Math.ceil(Buffer.byteLength(text) / 1024)})`;
  }
  // The database rejects a lone surrogate or a NUL with an error that names neither the record nor the member.
  return UNSTORABLE.test(text) ? 'data: holds characters that cannot be stored' : null;
}

/** Matches NUL and lone surrogates as written by `JSON.stringify`. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

function isText(key: string): boolean {
  return key.isWellFormed() && !key.includes('\0');
}
