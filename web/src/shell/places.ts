import type { Scope } from '../data/session.ts';

export interface Place {
  label: string;
  href: string;
  /** Other addresses that belong to it. */
  also?: readonly string[];
  /** The key that leads there after `g`. */
  key: string;
  /** Hidden from those who may not use it. */
  scope?: Scope;
}

export interface PlaceGroup {
  label: string | null;
  places: readonly Place[];
}

/** Every place of the console, as the navigation shows them. */
export const PLACE_GROUPS: readonly PlaceGroup[] = [
  {
    label: null,
    places: [
      { label: 'Home', href: '/', key: 'h' },
      { label: 'Runs', href: '/runs', also: ['/submit', '/tasks', '/view', '/failures'], key: 'r' },
      { label: 'Schedules', href: '/schedules', also: ['/jobs'], key: 's' },
    ],
  },
  {
    label: 'Operations',
    places: [
      { label: 'Workers', href: '/workers', key: 'w' },
      { label: 'Queues', href: '/queues', key: 'q' },
      { label: 'Webhooks', href: '/webhooks', key: 'b' },
      { label: 'Rules', href: '/rules', key: 'l' },
      { label: 'Runners', href: '/pool', key: 'p' },
      { label: 'Executors', href: '/executors', key: 'e' },
    ],
  },
  {
    label: 'Scanning',
    places: [
      { label: 'Findings', href: '/findings', key: 'f' },
      { label: 'Surface', href: '/surface', key: 'u' },
    ],
  },
  {
    label: 'Administration',
    places: [
      { label: 'Audit', href: '/audit', key: 'a', scope: 'admin' },
      { label: 'Settings', href: '/settings', key: 't' },
    ],
  },
];

export const PLACES: readonly Place[] = PLACE_GROUPS.flatMap(({ places }) => places);

/** Whether the address belongs to the place. */
export function isWithin({ href, also = [] }: Place, path: string): boolean {
  if (href === '/') return path === '/';
  return [href, ...also].some((base) => path === base || path.startsWith(`${base}/`));
}
