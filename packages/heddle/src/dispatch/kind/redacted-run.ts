import type { JsonObject } from '@heddle/base/json';
import type { Logger } from '@heddle/base/log';
import { redactFields } from '@heddle/base/redact';
import type { Redactor } from '@heddle/base/redactor';
import { Completion } from './completion.ts';

/** Returns a logger that replaces secrets in messages and fields. */
export function redactedLogger(log: Logger, redactor: Redactor): Logger {
  const write = (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] => {
    return (fields, message) =>
      log[level](redactor.json(redactFields(fields) as JsonObject) as JsonObject, redactor.text(message));
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) =>
      redactedLogger(log.child(redactor.json(redactFields(fields) as JsonObject) as JsonObject), redactor),
  };
}

/** Returns the completion without secrets in its reason and its result. */
export function redactedCompletion(completion: Completion, redactor: Redactor): Completion {
  const { outcome, result, reason, ...rest } = completion;
  return new Completion(outcome, {
    ...rest,
    ...(result === undefined ? {} : { result: redactor.json(result) }),
    ...(reason === undefined ? {} : { reason: redactor.text(reason) }),
  });
}
