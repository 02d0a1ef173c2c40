import { useFilters } from '../data/filters.ts';

/** The selected task or node of a run, kept in the address; '' for none. */
export function useSelection(): [string, (id: string | null) => void] {
  const [{ node }, change] = useFilters(['node', 'attempt', 'find']);
  // The attempt and the text to find are those of the task that was selected before.
  return [node, (id) => change({ node: id ?? '', attempt: '', find: '' })];
}
