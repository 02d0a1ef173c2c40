import type { RunnerRequest, RunnerStore } from './port/store.ts';

/** Yields waiting requests in queue order, page by page, at most `pagesMax` pages; optionally only of these shapes. */
export async function* waitingPages(
  store: Pick<RunnerStore, 'waiting'>,
  pageSize: number,
  pagesMax: number,
  shapeIds?: readonly number[],
): AsyncGenerator<readonly RunnerRequest[]> {
  let last: RunnerRequest | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const after = last === undefined ? undefined : { rank: last.rank, id: last.id };
    const requests = await store.waiting(pageSize, after, shapeIds);
    if (requests.length === 0) return;
    yield requests;
    if (requests.length < pageSize) return;
    last = requests.at(-1)!;
  }
}
