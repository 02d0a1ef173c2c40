import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSchedule, scheduleFaults } from '../../../src/engine/schedule/cron.ts';

/** The next occurrences after a moment, as UTC times without seconds. */
function next(cron: string, timeZone: string, after: string, count: number): string[] {
  const times = parseSchedule(cron, timeZone).upcoming(Date.parse(after), count);
  return times.map((time) => new Date(time).toISOString().slice(0, 16));
}

test('expressions of five and six fields, names, and nicknames', () => {
  const after = '2026-06-01T00:00:00Z';
  assert.deepEqual(next('30 4 * * *', 'UTC', after, 2), ['2026-06-01T04:30', '2026-06-02T04:30']);
  assert.deepEqual(next('0 9 * * MON-FRI', 'UTC', '2026-06-05T10:00:00Z', 2), ['2026-06-08T09:00', '2026-06-09T09:00']);
  assert.deepEqual(next('@daily', 'Asia/Kathmandu', after, 1), ['2026-06-01T18:15']);
  assert.deepEqual(next('@monthly', 'UTC', after, 1), ['2026-07-01T00:00']);
  assert.deepEqual(next('0 0 L * *', 'UTC', after, 1), ['2026-06-30T00:00']);
  assert.deepEqual(
    parseSchedule('*/20 * * * * *', 'UTC')
      .upcoming(Date.parse(after), 3)
      .map((time) => time - Date.parse(after)),
    [20_000, 40_000, 60_000],
  );
  // An occurrence is not its own next one, and a moment within a second does not repeat that second.
  assert.deepEqual(next('0 0 1 6 *', 'UTC', after, 1), ['2027-06-01T00:00']);
  assert.equal(parseSchedule('* * * * * *', 'UTC').next(Date.parse(after) + 500), Date.parse(after) + 1000);
  // A day of month and a weekday: either of them will do, as in every cron.
  assert.deepEqual(next('0 0 13 * FRI', 'UTC', '2026-06-11T12:00:00Z', 3), [
    '2026-06-12T00:00',
    '2026-06-13T00:00',
    '2026-06-19T00:00',
  ]);
});

test('what is no expression or no time zone is refused, each by name', () => {
  for (const [cron, timeZone, ...details] of [
    ['61 * * * *', 'UTC', /^cron: Invalid value for minute: 61$/],
    ['* * * *', 'UTC', /^cron: must have five fields/],
    ['', 'UTC', /^cron: /],
    ['@reboot', 'UTC', /^cron: @reboot is not supported/],
    ['0 0 0 1 1 * 2030', 'UTC', /^cron: must have five fields/],
    ['2026-06-01T00:00:00', 'UTC', /^cron: must have five fields/],
    [`0 0 ${'1,'.repeat(100)}1 * *`, 'UTC', /^cron: must have at most 200 characters$/],
    ['0 0 * * *', 'Europe/Atlantis', /^time_zone: must be the IANA name of a time zone, such as Europe\/Berlin/],
    ['0 0 * * *', '+02:00', /^time_zone: /],
    ['x', '', /^time_zone: /, /^cron: /],
  ] as const) {
    assert.throws(
      () => parseSchedule(cron, timeZone),
      (error: { code: string; details: string[] }) => {
        assert.equal(error.code, 'VALIDATION_FAILED');
        assert.equal(error.details.length, details.length, error.details.join());
        details.forEach((detail, index) => assert.match(error.details[index]!, detail));
        return true;
      },
    );
  }
});

test('a time of day that does not exist comes at the first moment after the gap', () => {
  // Berlin: 02:00 becomes 03:00 (01:00 UTC) on 29 March.
  assert.deepEqual(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3), [
    '2026-03-28T01:30',
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ]);
  // Several times of the gap fall together.
  assert.deepEqual(next('0,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2), [
    '2026-03-29T01:00',
    '2026-03-30T00:00',
  ]);
  // New York: 02:00 becomes 03:00 (07:00 UTC) on 8 March.
  assert.deepEqual(next('30 2 * * *', 'America/New_York', '2026-03-07T12:00:00Z', 2), [
    '2026-03-08T07:00',
    '2026-03-09T06:30',
  ]);
  // Lord Howe: 02:00 becomes 02:30 (15:30 UTC) on 4 October; the gap is half an hour.
  assert.deepEqual(next('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T16:00:00Z', 2), [
    '2026-10-03T15:30',
    '2026-10-04T15:15',
  ]);
  assert.deepEqual(next('45 2 * * *', 'Australia/Lord_Howe', '2026-10-02T16:30:00Z', 1), ['2026-10-03T15:45']);
});

test('a time of day that exists twice comes the first time only', () => {
  // Berlin: 03:00 becomes 02:00 (01:00 UTC) on 25 October.
  assert.deepEqual(next('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2), [
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ]);
  assert.deepEqual(next('30 1 * * *', 'America/New_York', '2026-10-31T12:00:00Z', 2), [
    '2026-11-01T05:30',
    '2026-11-02T06:30',
  ]);
  assert.deepEqual(next('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00:00Z', 2), [
    '2026-04-04T14:45',
    '2026-04-05T15:15',
  ]);
});

test('intervals keep their distance: they leave a gap out and go on through an hour that comes twice', () => {
  assert.deepEqual(next('*/30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2), [
    '2026-03-30T00:00',
    '2026-03-30T00:30',
  ]);
  assert.deepEqual(next('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:15:00Z', 4), [
    '2026-03-29T00:30',
    '2026-03-29T01:00',
    '2026-03-29T01:30',
    '2026-03-29T02:00',
  ]);
  assert.deepEqual(next('*/30 * * * *', 'America/New_York', '2026-11-01T05:15:00Z', 4), [
    '2026-11-01T05:30',
    '2026-11-01T06:00',
    '2026-11-01T06:30',
    '2026-11-01T07:00',
  ]);
  assert.deepEqual(next('*/15 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:30:00Z', 4), [
    '2026-04-04T14:45',
    '2026-04-04T15:00',
    '2026-04-04T15:15',
    '2026-04-04T15:30',
  ]);
});

test('step by step or at once, forwards or from the end: the occurrences are the same, through a year of changes', () => {
  for (const [cron, zone] of [
    ['30 2 * * *', 'Europe/Berlin'],
    ['*/20 1-3 * * *', 'America/New_York'],
    ['5,35 1,2 * * *', 'Australia/Lord_Howe'],
    ['0 */6 * * *', 'Africa/Casablanca'],
  ] as const) {
    const schedule = parseSchedule(cron, zone);
    const start = Date.parse('2026-01-01T00:00:00Z');
    const end = Date.parse('2027-01-01T00:00:00Z');
    const times: number[] = [];
    for (let at = schedule.next(start); at !== null && at <= end; at = schedule.next(at)) times.push(at);
    assert.ok(
      times.every((time, index) => index === 0 || time > times[index - 1]!),
      `${cron} goes back`,
    );
    // From any moment between two occurrences the next one is the second.
    for (let index = 1; index < times.length; index += 7) {
      assert.equal(schedule.next(times[index]! - 1), times[index], `${cron} ${zone}`);
    }
    const due = schedule.due(times[0]!, end);
    if (times.length <= 1000) assert.deepEqual(due, { first: times[0], times, count: times.length });
    else assert.deepEqual([due.first, due.count, due.times], [times[0], null, times.slice(-due.times.length)]);
  }
});

test('very many due occurrences are not walked through: the latest are found from the end', () => {
  const schedule = parseSchedule('* * * * * *', 'Europe/Berlin');
  const first = Date.parse('2020-01-01T00:00:00Z');
  const now = Date.parse('2026-06-01T00:00:00Z');
  const { times, count } = schedule.due(first, now);
  assert.equal(count, null);
  assert.deepEqual([times.length >= 100, times.at(-1)], [true, now]);
});

test('a day that never comes has no next occurrence', () => {
  assert.equal(parseSchedule('0 0 30 2 *', 'UTC').next(0), null);
  assert.deepEqual(parseSchedule('0 0 30 2 *', 'UTC').upcoming(0, 5), []);
});

test('an error lists the fields if their number is wrong', () => {
  for (const cron of ['nonsense', '@foo', '* * *', '* * * * * * *', '2026-01-01T00:00:00Z', '']) {
    assert.match(scheduleFaults(cron, 'UTC')[0]!, /^cron: must have five fields \(minute, .* @daily; not "/, cron);
  }
  assert.match(scheduleFaults('61 * * * *', 'UTC')[0]!, /^cron: Invalid value for minute: 61/);
});
