/** A substitute for `heddle worker --runner`: `node stand-in.ts MODE … --runner ID --runner-home DIRECTORY`. */
import { becomeRunner } from '../../../../../src/pool/providers/process/records.ts';

const mode = process.argv[2];
const home = process.argv[process.argv.indexOf('--runner-home') + 1]!;
if (mode === 'crash') {
  process.stderr.write('it cannot start: no such module\n');
  process.exit(7);
}
if (mode === 'stubborn') process.on('SIGTERM', () => undefined);
if (becomeRunner(home, process.pid) === null) process.exit(0);
process.stdout.write(`runs as ${process.pid}\n`);
setInterval(() => undefined, 60_000);
