import { Permits } from '../../runtime/permits.ts';

/**
 * Runs `run` for each item, at most `width` at once, begun in order. After a failure nothing more is begun; what was begun
 * is awaited. An item that failed, or was not begun, has null; the failure is there too.
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
    // Set by a run that failed while this one waited for its turn.
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
