export { filesLeftIn, type LeftFile } from './left-files.ts';
export { openRunner, type RunnerOptions } from './open-runner.ts';
export {
  COMMAND_TIERS,
  type Command,
  type CommandEnd,
  type CommandFile,
  type CommandHost,
  type CommandRunner,
  type CommandTier,
  type OutputStream,
} from './port.ts';
