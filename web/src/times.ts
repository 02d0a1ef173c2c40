import { useEffect, useState, useSyncExternalStore } from 'react';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a duration: `340 ms`, `4.2 s`, `3 m 07 s`, `2 h 05 m`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  const length = Math.max(0, ms);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < 10 * SECOND) return `${(length / SECOND).toFixed(1)} s`;
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return `${Math.floor(length / MINUTE)} m ${pad(Math.floor((length % MINUTE) / SECOND))} s`;
  if (length < DAY) return `${Math.floor(length / HOUR)} h ${pad(Math.floor((length % HOUR) / MINUTE))} m`;
  return `${Math.floor(length / DAY)} d ${Math.floor((length % DAY) / HOUR)} h`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** Formats the time since or until a time. */
export function formatAgo(atMs: number, nowMs: number): string {
  const length = nowMs - atMs;
  if (Math.abs(length) < 2 * SECOND) return 'just now';
  return length > 0 ? `${formatDuration(length)} ago` : `in ${formatDuration(-length)}`;
}

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function formatMoment(atMs: number): string {
  return FULL.format(atMs);
}

export function formatClock(atMs: number): string {
  return CLOCK.format(atMs);
}

/** Milliseconds of a time on the wire (ISO string or number); null if absent or invalid. */
export function parseTime(value: string | number | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  const ms = typeof value === 'number' ? value : Date.parse(value);
  return Number.isFinite(ms) ? ms : null;
}

/** The current time, updated every `intervalMs` while `active`. */
export function useNow(intervalMs: number, active = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!active) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs, active]);
  return now;
}

const secondListeners = new Set<() => void>();
let second = Date.now();
let secondTimer: ReturnType<typeof setInterval> | undefined;

function onSecond(listener: () => void): () => void {
  secondListeners.add(listener);
  secondTimer ??= setInterval(() => {
    second = Date.now();
    for (const each of secondListeners) each();
  }, SECOND);
  return () => {
    secondListeners.delete(listener);
    if (secondListeners.size > 0) return;
    clearInterval(secondTimer);
    secondTimer = undefined;
  };
}

/** The current time, updated every second by one shared timer: for elements that occur hundreds of times. */
export function useSharedNow(): number {
  return useSyncExternalStore(onSecond, () => second);
}
