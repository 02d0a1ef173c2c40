import { HeddleApiError, type HeddleClient } from '@heddle/client';
import { SecretRefusedError } from '@heddle/core/domain/secret';
import type { NamedSecrets } from '@heddle/core/engine/port';

/**
 * Secrets by requests to a server, for workers without a database: of the task that they run, and no others.
 * @param holder name in the claim of the tasks, if it had one
 */
export function serverSecrets(client: HeddleClient, holder?: string): Pick<NamedSecrets, 'use'> {
  return {
    use: async (_names, { task_id: id, attempt = 1 }) => {
      try {
        const task = { id, attempt, ...(holder === undefined ? {} : { holder }) };
        return new Map(Object.entries(await client.work.secrets(task)));
      } catch (error) {
        const isRefused = error instanceof HeddleApiError && error.status === 403;
        throw isRefused ? new SecretRefusedError(error.message, { cause: error }) : error;
      }
    },
  };
}
