import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronInWords } from '../../web/src/jobs/cron-words.ts';

const SAID: Record<string, string> = {
  '30 2 * * *': 'Every day at 02:30',
  '@daily': 'Every day at 00:00',
  '@hourly': 'Every hour, on the hour',
  '0 30 2 * * MON-FRI': 'On weekdays at 02:30',
  '*/15 * * * *': 'Every 15 minutes',
  '* * * * *': 'Every minute',
  '*/15 9-17 * * 1-5': 'Every 15 minutes from 09:00 to 17:45 on weekdays',
  '5,35 * * * *': 'Every hour, at :05 and :35',
  '0 */6 * * *': 'Every 6 hours, on the hour',
  '0 2,14 * * *': 'Every day at 02:00 and 14:00',
  '0 8 * * MON,THU': 'On Mondays and Thursdays at 08:00',
  '0 8 * * 7': 'On Sundays at 08:00',
  '0 0 1,15 * *': 'On the 1st and 15th of the month at 00:00',
  '0 0 L * *': 'On the last day of the month at 00:00',
  '@yearly': 'On the 1st of the month at 00:00 in January',
  '*/10 * * * * *': 'Every 10 seconds',
};

/** Too complex or invalid: the expression itself is shown. */
const UNSAID = ['0 0 13 * 5', '*/7 * * * *', '0 0 * * 5#2', '0 0 15W * *', '61 * * * *', '5 4 3', 'x * * * *', ''];

test('a schedule is described in words if they are exact', () => {
  for (const [expression, words] of Object.entries(SAID)) assert.equal(cronInWords(expression), words, expression);
  for (const expression of UNSAID) assert.equal(cronInWords(expression), null, expression);
});
