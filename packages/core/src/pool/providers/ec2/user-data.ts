export interface UserDataOptions {
  /** Environment variables of the agent. Anyone who may read the template can read them: pass secrets by reference. */
  readonly environment: Readonly<Record<string, string>>;
  /** Command that starts the agent (default `heddle worker --runner ec2`). */
  readonly command?: string;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Returns a script that runs the agent and then shuts down the instance, which terminates it even if the agent crashes.
 *
 * @throws Error for an invalid variable name
 */
export function userDataOf({ environment, command = 'heddle worker --runner ec2' }: UserDataOptions): string {
  const lines = Object.entries(environment).map(([name, value]) => {
    if (!NAME.test(name)) throw new Error(`${name}: is not a valid name of an environment variable`);
    return `export ${name}=${quoted(value)}`;
  });
  return ['#!/bin/bash', 'trap "shutdown -h now" EXIT', ...lines, command, ''].join('\n');
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}
