/** An executor that its test kills while a task runs. */
import { openTier } from '../../../src/execution/open-tier.ts';
import type { Tier } from '../../../src/protocol/messages.ts';
import { AttackCode, hooksOf, jobOf, tierOptions } from './fixture.ts';

const tier = await openTier(process.argv[2] as Tier, tierOptions({ directory: process.argv[3]! }));
const code = await AttackCode.make();
const onStart = (): void => void process.stdout.write(`started ${code.directory}\n`);
await tier.run(jobOf(code.module('time'), 'time.endless-loop', { timeout_ms: 60_000 }), hooksOf({ onStart }));
