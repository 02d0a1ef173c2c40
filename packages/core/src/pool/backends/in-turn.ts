import { Permits } from '@heddle/base/permits';

/**
 * Calls `run` for each item in order, at most `width` concurrently. After a failure, starts no more and waits for
 * running calls. Returns the first failure, and null as the result of items that failed or were not started.
 */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  width: number,
  run: (item: Item) => Promise<Result>,
): Promise<{ results: (Result | null)[]; failure: { error: unknown } | null }> {
  const permits = new Permits(width);
  const results = new Array<Result | null>(items.length).fill(null);
  let failure: { error: unknown } | null = null;
  const runs: Promise<void>[] = [];
  for (const [index, item] of items.entries()) {
    const permit = await permits.acquire();
    // A run may have failed while this one waited for its permit.
    if (hasFailed()) {
      permit.release();
      break;
    }
    runs.push(
      run(item)
        .then((result) => void (results[index] = result))
        .catch((error: unknown) => void (failure ??= { error }))
        .finally(() => permit.release()),
    );
  }
  await Promise.all(runs);
  return { results, failure };

  function hasFailed(): boolean {
    return failure !== null;
  }
}
