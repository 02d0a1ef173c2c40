/**
 * The part of the "metadata reflection" proposal that the X.509 package needs at load time: values by key, stored per
 * class.
 */
interface MetadataReflection {
  defineMetadata(key: unknown, value: unknown, target: object): void;
  getOwnMetadata(key: unknown, target: object): unknown;
  getMetadata(key: unknown, target: object): unknown;
}

const values = new WeakMap<object, Map<unknown, unknown>>();

const reflection: MetadataReflection = {
  defineMetadata(key, value, target) {
    const own = values.get(target) ?? new Map<unknown, unknown>();
    values.set(target, own.set(key, value));
  },
  getOwnMetadata: (key, target) => values.get(target)?.get(key),
  getMetadata(key, target) {
    for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at) as object | null) {
      const own = values.get(at);
      if (own?.has(key) === true) return own.get(key);
    }
    return undefined;
  },
};

if (!('getMetadata' in Reflect)) Object.assign(Reflect, reflection);
