import { Autocomplete } from '@base-ui/react/autocomplete';
import { Dialog } from '@base-ui/react/dialog';
import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { search } from '../api/search.ts';
import type { SearchResult } from '@heddle/client';
import { addressOf } from '../data/addresses.ts';
import { useLive } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { PLACES } from './places.ts';

const TYPING_PAUSE_MS = 150;

interface Hit {
  key: string;
  type: string;
  title: string;
  detail: string | null;
  href: string;
}

interface PaletteProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Finds places, runs, tasks, jobs, kinds, hosts and findings, by keyboard alone. */
export function Palette({ open, onOpenChange }: PaletteProps) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-backdrop" />
        <Dialog.Popup className="dialog palette" aria-label="Search">
          <PaletteSearch onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function PaletteSearch({ onDone }: { onDone: () => void }) {
  const [text, setText] = useState('');
  const [, navigate] = useLocation();
  const { hits, isSearching, error } = useHits(text);
  const go = (href: string): void => {
    onDone();
    navigate(href);
  };
  return (
    <Autocomplete.Root
      items={hits}
      value={text}
      onValueChange={setText}
      itemToStringValue={(hit: Hit) => hit.title}
      mode="none"
      inline
      open
      autoHighlight="always"
    >
      <Autocomplete.Input className="palette-input" placeholder="Search or go to…" aria-label="Search" autoFocus />
      <Autocomplete.Status className="palette-status">
        {error !== null ? error.message : isSearching ? 'Searching…' : ''}
      </Autocomplete.Status>
      <Autocomplete.Empty className="palette-status">
        {isSearching || text === '' ? '' : 'Nothing found'}
      </Autocomplete.Empty>
      <Autocomplete.List className="palette-list">
        {(hit: Hit) => (
          <Autocomplete.Item key={hit.key} value={hit} className="palette-item" onClick={() => go(hit.href)}>
            <span className="palette-type">{hit.type}</span>
            <span className="palette-title">{hit.title}</span>
            {hit.detail !== null && <span className="quiet">{hit.detail}</span>}
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}

function useHits(text: string): { hits: Hit[]; isSearching: boolean; error: Error | null } {
  const can = useCan();
  const [query, setQuery] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const answer = useLive(['search', query], (signal) => search(query, signal), { every: false, enabled: query !== '' });
  const places = PLACES.filter(
    ({ label, scope }) =>
      (scope === undefined || can(scope)) && label.toLowerCase().includes(text.trim().toLowerCase()),
  ).map(({ label, href }) => ({ key: href, type: 'Go to', title: label, detail: null, href }));
  const found = query === '' ? [] : (answer.data?.results ?? []).map(hitOf);
  return { hits: [...places, ...found], isSearching: text.trim() !== query || answer.isFetching, error: answer.error };
}

function hitOf(result: SearchResult): Hit {
  const { type, id, title, detail } = result;
  return { key: `${type} ${id}`, type: capitalized(type), title, detail, href: addressOf(result) };
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
