/**
 * Preloaded into every test file. node:test observes the creation of every promise to know the test of a stray error,
 * which makes promises fifteen times as expensive; without that hook a stray error fails its file instead of its test.
 */
import hooks, { type HookCallbacks } from 'node:async_hooks';

const { createHook } = hooks;
const inert = { enable: () => inert, disable: () => inert };

Object.assign(hooks, {
  createHook: (callbacks: HookCallbacks) =>
    new Error().stack?.includes('node:internal/test_runner') ? inert : createHook(callbacks),
});
