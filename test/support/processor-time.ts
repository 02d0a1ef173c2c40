/** Processor time of this thread so far, in milliseconds: how much was done, however busy the machine is. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
