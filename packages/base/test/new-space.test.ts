import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { promisify } from 'node:util';

const MODULE = new URL('../src/new-space.ts', import.meta.url).href;
/** V8 grows the new space for objects that survive one or two collections. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { keepNewSpaceSmall } from ${JSON.stringify(MODULE)};
  if (process.argv[1] === 'small') keepNewSpaceSmall();
  let most = 0;
  let kept = [];
  for (let made = 1; made <= 800_000; made += 1) {
    kept.push({ made, text: 'x' + made, list: [made] });
    if (kept.length > 100_000) kept = [];
    if (made % 10_000 !== 0) continue;
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    most = Math.max(most, space.physical_space_size);
  }
  console.log(most);`;

async function mostNewSpace(...how: string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM, ...how]);
  return Number(stdout);
}

it('the new space does not grow if it is limited', async () => {
  const [small, usual] = await Promise.all([mostNewSpace('small'), mostNewSpace()]);
  assert.ok(small < 36 * 1_048_576, `${small} bytes`);
  assert.ok(small * 1.5 < usual, `${small} bytes, and ${usual} without`);
});
