import { setImmediate } from 'node:timers/promises';

import { defineEvent } from '@heddle/kit/event';

/** Finds the largest primes below a number: takes a while, reports progress and can be canceled. */
export const primes = defineEvent({
  name: 'Primes',
  timeout_secs: 60,
  memory_mb: 128,
  idempotent: true,
  run: async (args, { progress, signal }) => {
    const below = Math.min(Number(args['below'] ?? 100_000), 50_000_000);
    const found: number[] = [];
    for (let number = 2; number < below; number += 1) {
      if (isPrime(number)) found.push(number);
      if (number % 50_000 === 0) {
        progress({ fraction: number / below, message: `${found.length} primes so far` });
        await setImmediate(undefined, { signal });
      }
    }
    return { count: found.length, largest: found.slice(-5) };
  },
});

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}
