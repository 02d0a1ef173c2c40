import assert from 'node:assert/strict';
import { test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { BUILT_IN_KINDS, isDatabaseKind } from '@heddle/core/domain/built-in-kinds';
import { loadConfiguration } from '../../src/app/config.ts';
import { silentLogger } from '@heddle/base/log';
import { StopSequence } from '../../src/app/stop-sequence.ts';
import { kindsOfServer, type ServerKindsOptions } from '../../src/app/kinds.ts';
import { runnerKinds } from '../../src/app/worker-kinds.ts';

/** Definitions only keep these, so nothing of them is called. */
const UNUSED = {} as never;

test('the built-in kinds are those that a server with executors and commands runs', async () => {
  const { values: settings } = loadConfiguration({
    flags: {},
    environment: { HEDDLE_COMMANDS: 'jail' },
    workingDirectory: import.meta.dirname,
  });
  const options: ServerKindsOptions = {
    ...{
      settings,
      clock: systemClock,
      random: UNUSED,
      log: UNUSED,
      tracing: UNUSED,
      stopping: new StopSequence(systemClock, silentLogger),
    },
    ...{ engine: UNUSED, findings: UNUSED, models: UNUSED, notices: UNUSED, shared: UNUSED },
    ...{
      ssrf: () => null,
      jailByDefault: false,
      defaultScanRoot: null,
      followedNames: [],
      remote: { executors: UNUSED, tracing: UNUSED },
    },
  };
  const names = (await kindsOfServer(options)).map(({ name }) => name);
  assert.deepEqual([...BUILT_IN_KINDS].sort(), names.sort());
});

test('a runner runs every built-in kind but those that need the database', () => {
  const { values: settings } = loadConfiguration({
    flags: {},
    environment: { HEDDLE_COMMANDS: 'jail' },
    workingDirectory: import.meta.dirname,
  });
  const stopping = new StopSequence(systemClock, silentLogger);
  const kinds = runnerKinds({ settings, modules: [], tracing: UNUSED, log: silentLogger, stopping });
  const names = kinds.map(({ name }) => name).sort();
  // Executors are not configured here.
  const expected = BUILT_IN_KINDS.filter((name) => !isDatabaseKind(name) && name !== 'RemoteEvent');
  assert.deepEqual(names, expected.sort());
});
