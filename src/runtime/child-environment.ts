/**
 * The environment of this process for a child, with some variables changed.
 *
 * @param changes undefined leaves a variable out
 */
export function childEnvironment(changes: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const environment = { ...process.env, ...changes };
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined));
}
