import { EXIT } from '../../app/failure.ts';

/** Exit codes of the commands that talk to a server; the first ones are those of every command. */
export const CLIENT_EXIT = {
  ...EXIT,
  /** There is no such batch, task or delivery. */
  notFound: 3,
  /** The server cannot be reached, or cannot answer now; trying again may help. */
  unavailable: 4,
  /** A token is missing, unknown, or does not grant this. */
  denied: 5,
  /** Ctrl-C ended a command that was following a batch; the batch itself goes on. */
  interrupted: 130,
} as const;

export type ClientExit = (typeof CLIENT_EXIT)[keyof typeof CLIENT_EXIT];
