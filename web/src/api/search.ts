import { getJson, segment } from './client.ts';

export interface SearchResult {
  type: string;
  id: string;
  title: string;
  detail: string | null;
  state: string | null;
}

export function search(text: string, signal: AbortSignal): Promise<{ results: SearchResult[] }> {
  return getJson(`/v1/search?q=${segment(text)}&limit=20`, signal);
}
