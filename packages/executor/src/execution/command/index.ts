export { filesLeftIn, type LeftFile } from './left-files.ts';
export { openContainerRunner } from './open-container-runner.ts';
export { openRunner, type RunnerOptions } from './open-runner.ts';
export type { ContainerOptions } from '../options.ts';
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
