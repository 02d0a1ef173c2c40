/**
 * What `@peculiar/x509` needs of the Reflect metadata API, which Node.js does not have: import it before that package.
 * Where a polyfill is loaded already, that one is used.
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
