import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiryOf } from '../../web/src/surface/expiry.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test('the expiry of a certificate is described in words, rounded down, with its urgency', () => {
  const cases: [leftMs: number, words: string, urgency: string][] = [
    [-3 * DAY - HOUR, 'expired 3 days ago', 'past'],
    [-1, 'expired less than an hour ago', 'past'],
    [-DAY, 'expired 1 day ago', 'past'],
    [0, 'expires in less than an hour', 'soon'],
    [5 * HOUR, 'expires in 5 hours', 'soon'],
    [14 * DAY, 'expires in 14 days', 'soon'],
    [14 * DAY + 1, 'expires in 14 days', 'fine'],
    [59 * DAY, 'expires in 59 days', 'fine'],
    [60 * DAY, 'expires in 2 months', 'fine'],
    [10 * 365 * DAY, 'expires in 10 years', 'fine'],
  ];
  const now = Date.parse('2026-01-01T00:00:00Z');
  for (const [left, words, urgency] of cases) assert.deepEqual(expiryOf(now + left, now), { words, urgency });
});
