import * as kind from './setting.ts';

const CHOICES = ['jail', 'container', 'process', 'off'] as const;

/** Settings of the kind `Command`. */
export const COMMAND_SETTING_GROUPS = {
  Commands: {
    commands: kind.list({
      name: 'HEDDLE_COMMANDS',
      fallback: [],
      fallbackText: 'no commands; with `heddle up` on loopback `jail`, if bubblewrap is installed',
      allowed: `a comma-separated list of ${CHOICES.join(', ')}`,
      item: (given) => ((CHOICES as readonly string[]).includes(given) ? given : null),
      description:
        'Isolation in which tasks of the kind `Command` may run programs on this machine, the default first: `jail` (bubblewrap), `container` (podman or docker), `process` (none but limits), `off`',
    }),
    commandPrograms: kind.list({
      name: 'HEDDLE_COMMAND_PROGRAMS',
      fallback: [],
      fallbackText: 'any program',
      allowed: 'a comma-separated list of programs',
      item: (given) => given,
      description: 'Programs that they may run, as `argv` names them; shell lines need `bash` or `sh` here',
    }),
    commandImages: kind.list({
      name: 'HEDDLE_COMMAND_IMAGES',
      fallback: [],
      fallbackText: 'any image',
      allowed: 'a comma-separated list of images; `registry.example.com/tools/*` allows all that begin like it',
      item: (given) => given,
      description: 'Images that their containers may have, as `image` names them; a final `*` stands for any text',
    }),
    commandEngine: kind.text({
      name: 'HEDDLE_COMMAND_ENGINE',
      fallback: '',
      fallbackText: '`podman` if it is installed, else `docker`',
      description: 'Command of the container engine',
    }),
    commandParameters: kind.list({
      name: 'HEDDLE_COMMAND_PARAMETERS',
      fallback: [],
      fallbackText: '-',
      description: 'Further parameters of its `run`, comma-separated, such as `--runtime=runsc` or `--pull=never`',
    }),
    commandProcessors: kind.integer({
      name: 'HEDDLE_COMMAND_PROCESSORS',
      fallback: 1,
      min: 1,
      max: 1_024,
      description:
        'Processors that one command may use; outside of containers where the worker may create control groups',
    }),
    commandNetwork: kind.onOff({
      name: 'HEDDLE_COMMAND_NETWORK',
      fallback: false,
      description: 'Whether they may use the network if their input asks for it; the tier `process` always can',
    }),
    commandMemoryMb: kind.integer({
      name: 'HEDDLE_COMMAND_MEMORY_MB',
      fallback: 2_048,
      min: 16,
      max: 1_048_576,
      description: 'Maximum memory of one command, MiB',
    }),
    commandDiskMb: kind.integer({
      name: 'HEDDLE_COMMAND_DISK_MB',
      fallback: 1_024,
      min: 1,
      max: 1_048_576,
      description: 'Maximum size of the working directory of one command, MiB',
    }),
    commandConcurrency: kind.integer({
      name: 'HEDDLE_COMMAND_CONCURRENCY',
      fallback: 4,
      min: 1,
      max: 1_000,
      description: 'Concurrent tasks of the kind `Command` in one process',
    }),
  },
} as const;
