/** Kind of tasks that run a program. Anyone who may submit one may run code on the machines of its workers. */
export const COMMAND_KIND = 'Command';
