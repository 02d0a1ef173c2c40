export * from './client.ts';
export * from './verification.ts';
export type * from './wire.ts';
export type * from './wire-types.ts';
