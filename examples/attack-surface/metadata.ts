/**
 * The parts of the Reflect metadata API that `@peculiar/x509` needs and Node.js lacks: import this before that package.
 * Uses a polyfill that is already loaded.
 */
const known = new WeakMap<object, Map<unknown, unknown>>();

const read = (key: unknown, target: object): unknown => known.get(target)?.get(key);

const missing = {
  getMetadata: read,
  getOwnMetadata: read,
  defineMetadata: (key: unknown, value: unknown, target: object): void => {
    known.set(target, (known.get(target) ?? new Map<unknown, unknown>()).set(key, value));
  },
};

if (!('getMetadata' in Reflect)) Object.assign(Reflect, missing);
