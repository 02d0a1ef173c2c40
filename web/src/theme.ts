import { useSyncExternalStore } from 'react';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const STORAGE_KEY = 'heddle.theme';
const darkPreference = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
let current: Theme = readStored();

function readStored(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY);
  return THEMES.find((theme) => theme === stored) ?? 'auto';
}

/** Applies the chosen theme to the document; call once at start. */
export function applyTheme(): void {
  if (current === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = current;
}

export function setTheme(theme: Theme): void {
  current = theme;
  localStorage.setItem(STORAGE_KEY, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

/** Calls back when the displayed colors change. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  darkPreference.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    darkPreference.removeEventListener('change', listener);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(onThemeChange, () => current);
}
