/** The body of `heddle server` for tests: configured by the environment, one line of JSON a life event. */
import { configurationOfProcess } from 'heddle/internal/app/config';
import { runServer } from 'heddle/internal/app/server';

// A test that dies must not leave its servers behind: its end closes this pipe.
process.stdin.resume();
process.stdin.on('end', () => process.exit(1));

const exitCode = await runServer({
  configuration: configurationOfProcess({}),
  onEvent: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`),
});
process.exit(exitCode);
