import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { ControlGroups } from '../../src/execution/control-groups.ts';
import { openContainerRunner } from '../../src/execution/command/open-container-runner.ts';
import { messageOf } from '@heddle/base/thrown';
import { openRunner, type RunnerOptions } from '../../src/execution/command/open-runner.ts';
import type { Command, CommandEnd, CommandHost, CommandRunner } from '../../src/execution/command/port.ts';
import { WorkDirectory } from '../../src/execution/command/work-directory.ts';
import { eventually } from '@heddle/test-support/eventually';
import { ENGINE, importImage } from '@heddle/test-support/container-image';
import { processesOfTasks } from '@heddle/test-support/executor/execution/traces';

const MIB = 1024 * 1024;

interface Ran extends CommandEnd {
  stdout: string;
  stderr: string;
}

async function runOn(runner: CommandRunner, command: Partial<Command>, host: Partial<CommandHost> = {}): Promise<Ran> {
  const output = { stdout: '', stderr: '' };
  const end = await runner.run(
    { argv: ['true'], environment: {}, stdin: Buffer.alloc(0), files: [], memoryMb: 128, network: false, ...command },
    {
      signal: new AbortController().signal,
      onOutput: (stream, chunk) => (output[stream] = (output[stream] + chunk.toString()).slice(-100_000)),
      ...host,
    },
  );
  return { ...end, ...output };
}

const script = (text: string): Partial<Command> => ({ argv: ['bash', '-c', text] });

const groups = ControlGroups.open(systemClock, `heddle-command-test-${process.pid}-1`);
const limitsProcessors = groups?.limitsProcessors ?? false;
groups?.close();

for (const tier of ['process', 'jail', 'container'] as const) {
  describe(`a command in the tier ${tier}`, { concurrency: false }, () => {
    let runner: CommandRunner | null = null;
    let missing = '';
    let directory = '';
    let image: string | null = null;

    const runWith: typeof runOn = (on, command, host) =>
      runOn(on, { ...(image === null ? {} : { image }), ...command }, host);

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'heddle-command-'));
      await chmod(directory, 0o755);
      const options: RunnerOptions = { clock: systemClock, log: silentLogger, directory, graceMs: 300 };
      const limits = { ...options, diskBytes: 32 * MIB, processes: 64, processors: 1 };
      runner = await (tier === 'container' ? openContainers(limits) : openRunner(tier, limits)).catch(
        (error: unknown) => {
          missing = messageOf(error);
          return null;
        },
      );
    });

    async function openContainers(options: RunnerOptions): Promise<CommandRunner> {
      image = await importImage();
      return openContainerRunner({ ...options, container: ENGINE });
    }

    after(async () => {
      await runner?.close();
      await rm(directory, { recursive: true });
    });

    const it = (title: string, run: (runner: CommandRunner) => Promise<void>): void => {
      test(title, async (t) => {
        if (runner === null) {
          t.skip(missing);
          return;
        }
        await run(runner);
        await eventually(() => processesOfTasks().length === 0, 'no process of a command is left');
        const [stage] = await readdir(directory);
        assert.deepEqual(await readdir(join(directory, stage!, 'commands')), [], 'a working directory is left');
      });
    };

    it('reads its input and its files, writes both streams, and has its exit code', async (runner) => {
      const files = [{ path: 'bin/tool', content: Buffer.from('#!/bin/sh\necho "tool $1 $GREETING"; cat; exit 7') }];
      const environment = { GREETING: 'hello' };
      const stdin = Buffer.from('the input');
      const end = await runWith(runner, { argv: ['bin/tool', 'a b'], files, environment, stdin });
      assert.deepEqual([end.exitCode, end.signal, end.stdout], [7, null, 'tool a b hello\nthe input']);
      assert.equal((await runWith(runner, script('echo oops >&2'))).stderr, 'oops\n');
    });

    it('leaves a result in the file that its environment names', async (runner) => {
      const end = await runWith(runner, script('echo \'{"found": 3}\' > "$HEDDLE_RESULT"; cd "$HOME"; pwd'));
      assert.equal(end.result?.toString(), '{"found": 3}\n');
      assert.equal((await runWith(runner, {})).result, null);
    });

    if (tier === 'container') {
      it('gets nothing of the environment of this process', async (runner) => {
        const { stdout } = await runWith(runner, script('env | cut -d= -f1 | sort | tr "\\n" " "'));
        assert.match(
          stdout,
          /^(HEDDLE_RESULT|HOME|HOSTNAME|PATH|PWD|SHLVL|TERM|_|container)( (HOME|HOSTNAME|PATH|PWD|SHLVL|TERM|_|container))* $/,
        );
      });
    } else
      it('gets neither the environment nor descriptors of this process', async (runner) => {
        const { stdout } = await runWith(
          runner,
          script('env | cut -d= -f1 | sort | tr "\\n" " "; ls /proc/self/fd | wc -l'),
        );
        assert.match(
          stdout,
          /^HEDDLE_RESULT HEDDLE_TASK_PROCESS HOME LANG OLDPWD? ?PATH PWD SHLVL TZ _ 4\n$|^HEDDLE_RESULT HEDDLE_TASK_PROCESS HOME LANG PATH PWD SHLVL TZ _ 4\n$/,
        );
      });

    it('that does not exist says so', async (runner) => {
      const end = await runWith(runner, { argv: ['no-such-program'] });
      assert.equal(end.exitCode, 127);
      assert.match(end.stderr, /no-such-program/);
    });

    it('may clean up when it is stopped, and is killed if it ignores that', async (runner) => {
      for (const [trap, expected] of [
        ['trap "echo cleaned; exit 3" TERM', /^started\n(Terminated\n)?cleaned\n$/],
        ['trap "" TERM', /^started\n$/],
      ] as const) {
        const stopping = new AbortController();
        const output: string[] = [];
        const onOutput = (_stream: string, chunk: Buffer): void => {
          output.push(chunk.toString());
          if (output.join('').includes('started')) stopping.abort();
        };
        const text = `${trap}; echo started; for i in $(seq 1000); do sleep 0.1; done`;
        const end = await runWith(runner, script(text), { signal: stopping.signal, onOutput });
        assert.equal(end.stopped, true);
        assert.match(output.join(''), expected);
      }
    });

    test('that computes in several processes has the processors that it may use', async (t) => {
      if (runner === null || (tier !== 'container' && !limitsProcessors)) {
        t.skip(runner === null ? missing : 'this process may not create control groups for processors');
        return;
      }
      const busy = [
        'until=$(( ${EPOCHREALTIME/./} + 1500000 ))',
        'for n in 1 2 3; do ( while (( ${EPOCHREALTIME/./} < until )); do :; done ) & done',
        'wait',
        'times',
      ];
      const { stdout, stderr, exitCode } = await runWith(runner, script(busy.join('\n')));
      assert.equal(exitCode, 0, stderr);
      const [user, system] = [...stdout.split('\n')[1]!.matchAll(/(\d+)m([\d.]+)s/g)].map(
        ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
      ) as [number, number];
      // Two processors would have been busy for 3 s.
      assert.ok(user + system < 2.3, `${user + system} s of processor time in 1.5 s`);
    });

    it('is refused if a file would lie outside its directory', async (runner) => {
      for (const path of ['../up', '/etc/x', 'a/../../b', '']) {
        await assert.rejects(runWith(runner, { files: [{ path, content: Buffer.from('x') }] }), /outside the working/);
      }
    });

    if (tier !== 'process') {
      it('sees neither the network, nor homes, nor other processes', async (runner) => {
        const text =
          'ls /root /home /work /var 2>&1; ls /sys/class/net 2>/dev/null; (exec 5<>/dev/tcp/127.0.0.1/22) 2>&1; ls -d /proc/[0-9]* | wc -l';
        const { stdout } = await runWith(runner, script(text));
        assert.match(stdout, /cannot access '\/home'/);
        if (tier === 'jail') assert.match(stdout, /cannot access '\/root'/);
        assert.match(stdout, /Connection refused|Network is unreachable/);
        assert.ok(Number(stdout.trim().split('\n').at(-1)) < 8);
      });
    }
  });
}

test('a directory is measured without following links, and with an end', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-work-'));
  const work = await WorkDirectory.make(
    join(directory, 'w'),
    null,
    [{ path: 'a', content: Buffer.alloc(MIB, 1) }],
    2 * MIB,
  );
  await symlink('/usr', join(work.path, 'usr'));
  await mkdir(join(work.path, 'deep'));
  const size = await work.size();
  assert.ok(size >= MIB && size < 2 * MIB, String(size));
  await work.remove();
  await rm(directory, { recursive: true });
});
