import type { RemoteExecutor } from '@heddle/executor/internal/client/index';
import { ExecutorSite } from '../src/remote-execution/executor-site.ts';
import { measureDeadlines, measureMemory } from '../src/remote-execution/limits.ts';
import { sendCalls } from '../src/remote-execution/load.ts';
import type { RemoteLoad, Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  let executor: Promise<ExecutorSite> | null = null;
  const clients = new Map<RemoteLoad['protocol'], RemoteExecutor>();
  /** One executor for all rounds: a bench asks for one tier. */
  const siteOf = async (
    tier: RemoteLoad['tier'],
    protocol: RemoteLoad['protocol'] = 'tcp',
  ): Promise<{ executor: ExecutorSite; client: RemoteExecutor }> => {
    executor ??= ExecutorSite.start(tier);
    const site = await executor;
    const client = clients.get(protocol) ?? site.client(protocol);
    clients.set(protocol, client);
    return { executor: site, client };
  };
  return {
    prepare: () => Promise.resolve(),
    async close() {
      for (const client of clients.values()) await client.close();
      await (await executor)?.stop();
    },
    async remoteLoad(request) {
      const { client } = await siteOf(request.tier, request.protocol);
      const call =
        request.call === 'task' ? () => client.submit('NoOp') : async () => mustExist(await client.hasEvent('NoOp'));
      return sendCalls(call, request);
    },
    remoteDeadlines: async (request) => measureDeadlines(await siteOf(request.tier), request),
    remoteMemory: async (request) => measureMemory(await siteOf(request.tier), request),
  };
}

function mustExist(exists: boolean): void {
  if (!exists) throw new Error('the executor does not know its event');
}
