/** A size of runners. A pool has one queue or index per class. */
export interface ResourceClass {
  readonly name: string;
  /** Exact number of virtual processors. */
  readonly cpu: number;
  /** Minimum memory, MiB. */
  readonly memory_mib: number;
}

/** Classes of a pool without configured classes. */
export const DEFAULT_RESOURCE_CLASSES: readonly ResourceClass[] = [
  { name: 'large', cpu: 2, memory_mib: 4_096 },
  { name: 'xlarge', cpu: 4, memory_mib: 8_192 },
  { name: '2xl', cpu: 8, memory_mib: 16_384 },
  { name: '4xl', cpu: 16, memory_mib: 32_768 },
  { name: '8xl', cpu: 32, memory_mib: 65_536 },
  { name: '12xl', cpu: 48, memory_mib: 98_304 },
  { name: '16xl', cpu: 64, memory_mib: 131_072 },
];

export const USAGE_CLASSES = ['on-demand', 'spot'] as const;

export type UsageClass = (typeof USAGE_CLASSES)[number];

/** Codes in the database. */
export const USAGE_CLASS_CODES = { 'on-demand': 0, spot: 1 } as const satisfies Record<UsageClass, number>;
