export * from './client.ts';
export * from '../remote/client/index.ts';
