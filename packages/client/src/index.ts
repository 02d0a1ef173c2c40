export * from './client.ts';
export type * from './wire.ts';
export type * from './wire-types.ts';
