import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { PLACES } from './places.ts';

export const SHORTCUTS: readonly { keys: string; does: string }[] = [
  { keys: 'Ctrl K', does: 'Search runs, tasks, jobs, kinds, hosts and findings' },
  { keys: '/', does: 'Filter the list' },
  { keys: 'j, k', does: 'Next and previous row' },
  { keys: 'Enter', does: 'Open the row' },
  { keys: 'x', does: 'Select the row' },
  { keys: 'Esc', does: 'Close' },
  { keys: '?', does: 'Show the keyboard shortcuts' },
];

/** How long `g` waits for the key of a place. */
const SEQUENCE_MS = 1500;

interface Handlers {
  onPalette: () => void;
  onHelp: () => void;
}

/** Keys that work in every view, unless someone types. */
export function useShortcuts({ onPalette, onHelp }: Handlers): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    let goSince = -Infinity;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        onPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null) return;
      const place = event.timeStamp - goSince < SEQUENCE_MS ? PLACES.find(({ key }) => key === event.key) : undefined;
      goSince = event.key === 'g' ? event.timeStamp : -Infinity;
      if (place !== undefined) navigate(place.href);
      else if (event.key === '?') onHelp();
      else if (event.key === '/') focusFilter();
      else if (event.key === 'j') focusFirstRow();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}

function focusFilter(): void {
  document.querySelector<HTMLElement>('[data-main-filter], input[type="search"]')?.focus();
}

function focusFirstRow(): void {
  if (document.activeElement?.matches('tr') === true) return;
  document.querySelector<HTMLElement>('#content tbody tr[data-id]')?.focus();
}
