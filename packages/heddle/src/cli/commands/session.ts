import type { Command } from 'commander';

import { writeTable } from '@heddle/base/terminal/table';
import { count, printable } from '@heddle/base/terminal/text';
import { HeddleApiError } from '@heddle/client';
import { clientCommand, parseId, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { UsageFailure } from '../output/failure.ts';
import { given } from '../output/list-options.ts';
import type { Session } from '../output/wire.ts';

const HELP = `
A token with the scope admin lists and ends the sessions of all users, another one those that it opened itself.
Ending a session does not prevent another login: revoke the token (heddle token revoke), or remove the user at the
identity provider.`;

interface UserOptions {
  user?: string;
}

/** Adds `heddle session …`. */
export function registerSessionCommands(program: Command, io: CommandIo = processIo): void {
  const session = program
    .command('session')
    .description('List and end logins of browsers to the console')
    .addHelpText('after', HELP);
  clientCommand<UserOptions>(
    session
      .command('list')
      .description('List sessions, the last used first, at most 1,000')
      .option('--user <name>', 'Only of users or tokens of this name'),
    io,
    listSessions,
  );
  clientCommand<UserOptions>(
    session
      .command('end')
      .description('End a session, or all of a user; servers apply it within seconds')
      .argument('[id]', 'ID of the session', parseId)
      .option('--user <name>', 'End all sessions of users or tokens of this name'),
    io,
    endSessions,
  );
}

async function listSessions({ client, output }: ClientContext, { user }: UserOptions): Promise<undefined> {
  const sessions = await client.access.listSessions(given({ user }));
  output.result(sessions, () => {
    if (sessions.length === 0) output.line('no sessions');
    else
      writeTable<Session>(
        output,
        [
          { header: 'ID', value: ({ id }) => id },
          { header: 'USER', value: ({ user: name }) => name, flexible: true },
          { header: 'ROLE', value: ({ role }) => role ?? '-' },
          { header: 'LOGIN', value: ({ login }) => login },
          { header: 'BROWSER', value: ({ browser }) => browser ?? '-', flexible: true },
          { header: 'ADDRESS', value: ({ address }) => address ?? '-' },
          { header: 'LAST USED', value: ({ last_used_at }) => last_used_at },
          { header: 'EXPIRES', value: ({ expires_at }) => expires_at },
        ],
        sessions,
      );
  });
  return undefined;
}

async function endSessions(
  { client, output }: ClientContext,
  { user }: UserOptions,
  id?: string,
): Promise<number | undefined> {
  if ((id === undefined) === (user === undefined)) {
    throw new UsageFailure('name a session by its ID, or a user by --user', {
      hint: 'list sessions: heddle session list',
    });
  }
  if (id !== undefined) {
    await client.access.endSession(id);
    output.result({ ended: [id] }, () => output.line(`session ${id} ended`));
    return undefined;
  }
  const ended = await endAllOf(client.access, user!);
  output.result({ ended }, () =>
    output.line(
      ended.length === 0
        ? `no sessions of ${printable(user!)}; list them with: heddle session list`
        : `ended ${count(ended.length, 'session')} of ${printable(user!)}`,
    ),
  );
  // A mistyped name must not look like a user whose sessions have ended.
  return ended.length === 0 ? CLIENT_EXIT.notFound : undefined;
}

/** Ends the sessions of a user, list by list, since one has a limit; returns their ids. */
async function endAllOf(access: ClientContext['client']['access'], user: string): Promise<string[]> {
  const ended: string[] = [];
  for (;;) {
    const before = ended.length;
    for (const { id } of await access.listSessions({ user })) if (await endIfLive(access, id)) ended.push(id);
    // The list is empty, or every session in it ended meanwhile.
    if (ended.length === before) return ended;
  }
}

async function endIfLive(access: ClientContext['client']['access'], id: string): Promise<boolean> {
  try {
    await access.endSession(id);
    return true;
  } catch (error) {
    if (error instanceof HeddleApiError && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}
