/** The body of `heddle server` for tests: configured by the environment, one line of JSON a life event. */
import { configurationOfProcess } from '../../src/app/config.ts';
import { runServer } from '../../src/app/server.ts';

// A test that dies must not leave its servers behind: its end closes this pipe.
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const exitCode = await runServer({
  configuration: configurationOfProcess({}),
  tell: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`),
});
process.exit(exitCode);
