export * from './client.ts';
export type * from './wire-types.ts';
