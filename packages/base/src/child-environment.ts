/**
 * Returns the environment of this process for a child process, with some variables changed.
 *
 * @param changes undefined removes a variable
 */
export function childEnvironment(changes: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const environment = { ...process.env, ...changes };
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined));
}
