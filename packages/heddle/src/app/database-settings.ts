import * as kind from './setting.ts';

/** Settings of the connections to the database. */
export const DATABASE_SETTING_GROUPS = {
  'Connection pool': {
    listenUrl: kind.address({
      name: 'HEDDLE_LISTEN_URL',
      fallback: null,
      fallbackText: '`DATABASE_URL`',
      schemes: ['postgres', 'postgresql'],
      description:
        'Direct address of the same database, bypassing a pooler such as PgBouncer, for notifications and migrations',
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
      description: 'Minimum idle connections; at most `POOL_MAX_SIZE`',
    }),
    poolAcquireRetries: kind.integer({
      name: 'POOL_ACQUIRE_RETRIES',
      fallback: 3,
      min: 0,
      max: 100,
      description: 'Retries to get a connection',
    }),
    poolTimeoutSecs: kind.integer({
      name: 'POOL_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 3600,
      description: 'Timeout of getting a connection, all tries together',
    }),
    statementTimeoutSecs: kind.integer({
      name: 'HEDDLE_STATEMENT_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 3600,
      description:
        'Timeout of one statement; waits for a lock time out after half of it, and a connection that has not answered 5 s after it is closed',
    }),
  },
  'Circuit breaker': {
    breakerEnabled: kind.onOff({
      name: 'CIRCUIT_BREAKER_ENABLED',
      fallback: true,
      description: 'Reject requests at once while the database is unavailable',
    }),
    breakerFailureThreshold: kind.integer({
      name: 'CIRCUIT_BREAKER_FAILURE_THRESHOLD',
      fallback: 5,
      min: 1,
      max: 10_000,
      description: 'Failed connection attempts that open the breaker; failed statements do not count',
    }),
    breakerFailureWindowSecs: kind.integer({
      name: 'CIRCUIT_BREAKER_FAILURE_WINDOW_SECS',
      fallback: 10,
      min: 1,
      max: 3600,
      description: 'Window in which failed connection attempts are counted',
    }),
    breakerRecoveryTimeoutSecs: kind.integer({
      name: 'CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 3600,
      description: 'Accepted for compatibility; the pool itself retries every second',
    }),
    breakerSuccessThreshold: kind.integer({
      name: 'CIRCUIT_BREAKER_SUCCESS_THRESHOLD',
      fallback: 2,
      min: 1,
      max: 1000,
      description: 'Accepted for compatibility; the first successful connection closes the breaker',
    }),
  },
} as const;
