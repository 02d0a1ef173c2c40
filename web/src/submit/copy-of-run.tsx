import { useEffect } from 'react';
import { getDefinition } from '../api/operations.ts';
import { listRuns } from '../api/runs.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { formatJson } from '../data/parse-input.ts';
import { bodyOf, LeftOut } from '../runs/definition-dialog.tsx';
import { ChoiceFilter } from '../ui/filter-bar.tsx';
import { notifyError } from '../ui/toast.tsx';
import type { Document } from './document-form.tsx';

interface CopyOfRunProps {
  /** The run in the address; '' for none. */
  from: string;
  onLoaded: (type: 'batch' | 'workflow', document: Document) => void;
}

/** Fills the editor with what was submitted as a run: one of the latest, or the one in the address. */
export function CopyOfRun({ from, onLoaded }: CopyOfRunProps) {
  const [, change] = useFilters(['from']);
  const { data: latest } = useLive(['runs', 'to-copy'], (signal) => listRuns({}, null, signal), { every: false });
  const { data, error } = useLive(['definition', from], (signal) => getDefinition(from, signal), {
    every: false,
    enabled: from !== '',
  });
  useEffect(() => {
    if (from === '' || data === undefined) return;
    const text = formatJson(bodyOf(data));
    onLoaded(data.type, { name: data.name ?? '', text, note: <LeftOut definition={data} /> });
  }, [from, data, onLoaded]);
  useEffect(() => {
    if (from !== '' && error !== null) notifyError('The run cannot be copied', error);
  }, [from, error]);
  const options: Record<string, string> = { '': 'none' };
  for (const { id, title, created_at } of latest?.runs ?? []) {
    options[id] = `${title}, ${new Date(created_at).toLocaleString()}`;
  }
  if (from !== '') options[from] ??= from;
  return <ChoiceFilter label="Copy of" value={from} options={options} onChange={(id) => change({ from: id })} />;
}
