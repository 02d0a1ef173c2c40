export * from './client.ts';
export type { ListPage } from './pages.ts';
export * from './verification.ts';
export type * from './wire.ts';
export type * from './wire-types.ts';
