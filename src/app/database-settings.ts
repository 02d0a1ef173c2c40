import * as kind from './setting.ts';

/** How connections to the database are kept. */
export const DATABASE_SETTING_GROUPS = {
  'Connection pool': {
    listenUrl: kind.address({
      name: 'HEDDLE_LISTEN_URL',
      fallback: null,
      fallbackText: '`DATABASE_URL`',
      schemes: ['postgres', 'postgresql'],
      description: 'The same database past a pooler such as PgBouncer, for notifications and migrations',
    }),
    poolMaxSize: kind.integer({
      name: 'POOL_MAX_SIZE',
      fallback: 10,
      min: 1,
      max: 1000,
      description: 'Maximum connections',
    }),
    poolMinIdle: kind.integer({
      name: 'POOL_MIN_IDLE',
      fallback: 5,
      min: 0,
      max: 1000,
      description: 'Minimum idle connections; never more than `POOL_MAX_SIZE`',
    }),
    poolAcquireRetries: kind.integer({
      name: 'POOL_ACQUIRE_RETRIES',
      fallback: 3,
      min: 0,
      max: 100,
      description: 'Further tries to get a connection',
    }),
    poolTimeoutSecs: kind.integer({
      name: 'POOL_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 3600,
      description: 'Longest wait for a connection, all tries together',
    }),
    statementTimeoutSecs: kind.integer({
      name: 'HEDDLE_STATEMENT_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 3600,
      description:
        'Longest run of one statement, and half of it the longest wait for a lock; a connection that has not answered 5 s later is given up',
    }),
  },
  'Circuit breaker': {
    breakerEnabled: kind.onOff({
      name: 'CIRCUIT_BREAKER_ENABLED',
      fallback: true,
      description: 'Whether requests are refused at once while the database is away',
    }),
    breakerFailureThreshold: kind.integer({
      name: 'CIRCUIT_BREAKER_FAILURE_THRESHOLD',
      fallback: 5,
      min: 1,
      max: 10_000,
      description: 'Failed connects that open the breaker; failures of statements do not count',
    }),
    breakerFailureWindowSecs: kind.integer({
      name: 'CIRCUIT_BREAKER_FAILURE_WINDOW_SECS',
      fallback: 10,
      min: 1,
      max: 3600,
      description: 'Time within which failed connects are counted',
    }),
    breakerRecoveryTimeoutSecs: kind.integer({
      name: 'CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 3600,
      description: 'Accepted for compatibility; the pool itself tries to connect each second',
    }),
    breakerSuccessThreshold: kind.integer({
      name: 'CIRCUIT_BREAKER_SUCCESS_THRESHOLD',
      fallback: 2,
      min: 1,
      max: 1000,
      description: 'Accepted for compatibility; the first connection closes the breaker',
    }),
  },
} as const;
