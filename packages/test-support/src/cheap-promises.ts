/**
 * Preloaded into every test file. node:test observes the creation of every promise to know the test of a stray error,
 * which makes promises fifteen times as expensive. Without that, an error that escapes a test fails the file instead of the
 * test, and nothing may be registered after an `await` within a suite.
 */
import hooks, { type HookCallbacks } from 'node:async_hooks';

const { createHook } = hooks;

Object.assign(hooks, {
  createHook: (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false }),
});
