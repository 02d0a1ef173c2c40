import { defineEvent } from '@heddle/kit/event';

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

export default [
  defineEvent({ name: 'results.half-a-gigabyte', run: () => 'x'.repeat(500_000_000) }),
  defineEvent({ name: 'results.many-members', run: () => Array.from({ length: 3_000_000 }, (_, index) => index) }),
  defineEvent({ name: 'results.just-too-large', run: (args) => 'x'.repeat((args['bytes'] as number) - 1) }),
  defineEvent({ name: 'results.as-large-as-may-be', run: (args) => 'x'.repeat((args['bytes'] as number) - 2) }),
  defineEvent({ name: 'results.undefined', run: () => undefined }),
  defineEvent({ name: 'results.big-integer', run: () => ({ value: 1n }) }),
  defineEvent({ name: 'results.cycle', run: () => cycle }),
  defineEvent({ name: 'results.function', run: () => () => undefined }),
  defineEvent({
    name: 'results.throwing-json',
    run: () => ({
      toJSON: () => {
        throw new Error('not this one');
      },
    }),
  }),
  defineEvent({
    name: 'results.throwing-getter',
    run: () => ({
      get value(): never {
        throw new Error('not this one');
      },
    }),
  }),
  defineEvent({
    name: 'results.hostile-throw',
    run: () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw new Proxy(
        {},
        {
          get: () => {
            throw new Error('trap');
          },
          getPrototypeOf: () => {
            throw new Error('trap');
          },
        },
      );
    },
  }),
  defineEvent({
    name: 'results.deep',
    run: () => {
      let value: unknown = 1;
      for (let level = 0; level < 200_000; level += 1) value = [value];
      return value;
    },
  }),
  defineEvent({
    name: 'results.words-of-length',
    run: () => ({
      toJSON: () => {
        throw new RangeError('Invalid string length');
      },
    }),
  }),
  defineEvent({
    name: 'results.rather-deep',
    run: () => {
      let value: unknown = 1;
      for (let level = 0; level < 100; level += 1) value = [value];
      return value;
    },
  }),
  defineEvent({ name: 'results.prototype-member', run: () => JSON.parse('{"__proto__":{"admin":true}}') as unknown }),
  defineEvent({ name: 'results.half-a-character', run: () => ({ text: '\ud800' }) }),
  defineEvent({ name: 'results.floats', run: () => [6.02e23, 1e300, 2 ** 60, -1e-300] }),
  defineEvent({ name: 'results.beyond-floats', run: () => [Infinity] }),
  defineEvent({
    name: 'results.long-message',
    run: () => {
      throw new Error('x'.repeat(10_000_000));
    },
  }),
];
