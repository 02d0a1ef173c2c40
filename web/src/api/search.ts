import type { Search } from '@heddle/client';
import { getJson, segment } from './client.ts';

export function search(text: string, signal: AbortSignal): Promise<Search> {
  return getJson(`/v1/search?q=${segment(text)}&limit=20`, signal);
}
