import { refreshAll } from '../data/query-client.ts';
import { notify } from '../ui/toast.tsx';

/** Says that a change was made, once it was, and shows it. */
export async function done(change: Promise<unknown>, title: string): Promise<void> {
  await change;
  notify(title);
  void refreshAll();
}

/** Names that are separated by commas, spaces or lines. */
export function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}
