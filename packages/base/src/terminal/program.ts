import { Command } from 'commander';

export interface ProgramOptions {
  name: string;
  version: string;
  nodeMin: string;
  description: string;
  /** What the help says after the oldest Node. */
  exitCodes: string;
}

/** A command line whose version and oldest Node are those of the package in a directory. */
export type PackagedProgram = Omit<ProgramOptions, 'version' | 'nodeMin'> & { directory: string };

/** Creates a command line without commands. Its errors are thrown as CommanderError. */
export function createProgram({ name, version, nodeMin, description, exitCodes }: ProgramOptions): Command {
  return (
    new Command(name)
      .description(description)
      .version(version)
      .showSuggestionAfterError()
      .exitOverride()
      // Errors are also thrown and printed where they are caught: `--json` needs them as a document.
      .configureOutput({ outputError: () => undefined })
      .addHelpText('after', `\nNeeds Node ${nodeMin} or newer. ${exitCodes}`)
  );
}

/** Returns a command as it is typed: `heddle scan`, or `heddle-scan`. */
export function commandPath(command: Command): string {
  return command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;
}
