import { EXIT } from '@heddle/base/terminal/failure';

/** Exit codes of the commands that call a server; the first ones apply to every command. */
export const CLIENT_EXIT = {
  ...EXIT,
  /** No such batch, task or delivery. */
  notFound: 3,
  /** The server is unreachable or temporarily unavailable; trying again may help. */
  unavailable: 4,
  /** The token is missing, unknown or insufficient. */
  denied: 5,
  /** Ctrl-C ended a command that was following a batch; the batch itself continues. */
  interrupted: 130,
} as const;

export type ClientExit = (typeof CLIENT_EXIT)[keyof typeof CLIENT_EXIT];
