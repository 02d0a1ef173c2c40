export interface UserDataOptions {
  /** Variables of the agent's environment. Whoever may read the template may read them: name secrets by reference. */
  readonly environment: Readonly<Record<string, string>>;
  /** Starts the agent; `heddle worker --runner ec2` by default. */
  readonly command?: string;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * A script that runs the agent and then shuts the instance down, which ends it: an agent that dies leaves nothing behind.
 *
 * @throws Error for a name that no environment can hold
 */
export function userDataOf({ environment, command = 'heddle worker --runner ec2' }: UserDataOptions): string {
  const lines = Object.entries(environment).map(([name, value]) => {
    if (!NAME.test(name)) throw new Error(`${name}: is no name of an environment variable`);
    return `export ${name}=${quoted(value)}`;
  });
  return ['#!/bin/bash', 'trap "shutdown -h now" EXIT', ...lines, command, ''].join('\n');
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}
