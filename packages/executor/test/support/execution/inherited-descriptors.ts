/** Started with an additional descriptor: prints the files that tasks of each tier find open. */
import { fstatSync } from 'node:fs';

import { AttackCode, resultOf, run, tryTier } from './fixture.ts';

const found: Record<string, unknown> = { executor: fstatSync(200).isFile() };
await using code = await AttackCode.make();
for (const name of ['pooled', 'process', 'jail'] as const) {
  const tier = await tryTier(name);
  if (typeof tier === 'string') found[name] = tier;
  else {
    found[name] = resultOf(await run(tier, code.module('files'), 'files.descriptors-inherited'));
    await tier.close();
  }
}
process.stdout.write(JSON.stringify(found));
