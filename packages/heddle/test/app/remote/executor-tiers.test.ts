import assert from 'node:assert/strict';
import { test } from 'node:test';

import { engineEnvironment } from '../../../src/app/remote/executor-tiers.ts';

test('the command of an engine gets the variables that it needs, and no secret of the executor', () => {
  const seen = { PATH: '/bin', HOME: '/root', DOCKER_HOST: 'unix:///run/x', KUBECONFIG: '/etc/kube' };
  const hidden = { HEDDLE_EXECUTOR_SECRET_KEY: 'x', DATABASE_URL: 'y', NODE_OPTIONS: '--inspect', MY_DOCKER_X: 'z' };
  assert.deepEqual(engineEnvironment({ ...seen, ...hidden }), seen);
});
