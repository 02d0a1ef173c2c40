import { defineEvent } from '@heddle/kit/event';

/** A hand-written Standard Schema. */
const positive = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => {
      const { count } = value as { count: number };
      if (count > 0) return { value: { count, checked: true } };
      return { issues: [{ message: 'must be positive', path: ['count'] }] };
    },
  },
};

export default [
  defineEvent({
    name: 'schema.positive',
    args: positive,
    timeout_secs: 5,
    memory_mb: 64,
    tier: 'jail',
    idempotent: true,
    run: (args) => args,
  }),
  defineEvent({
    name: 'schema.context',
    run: (_args, { correlation_id, traceparent, signal, progress }) => {
      progress({ fraction: 0.25, message: 'a quarter' });
      return { correlation_id, traceparent, aborted: signal.aborted };
    },
  }),
];
