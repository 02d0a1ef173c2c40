import { ApiError } from '../api/client.ts';
import { faultsOfDetails } from '../ui/code/json-path.ts';

/** What the server said about one member of what it was sent. */
export function faultOf(error: unknown, member: string, root = ''): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return faultsOfDetails(error.details, root).find(({ path }) => path[0] === member)?.message;
}
