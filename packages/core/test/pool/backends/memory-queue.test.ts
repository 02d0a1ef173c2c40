import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import { backendSuite } from '../../support/pool/backends/suite.ts';
import { openWorld, QUEUE_DRIVERS } from '../../support/pool/backends/worlds.ts';

for (const driver of QUEUE_DRIVERS) {
  backendSuite(`${driver} over queues in memory`, (policy) => {
    const clock = new VirtualClock();
    return Promise.resolve(openWorld(driver, new MemoryQueue({ clock }), policy, clock));
  });
}
