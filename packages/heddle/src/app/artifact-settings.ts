import * as kind from './setting.ts';

/** Files of tasks. */
export const ARTIFACT_SETTING_GROUPS = {
  Artifacts: {
    artifactsDir: kind.text({
      name: 'HEDDLE_ARTIFACTS_DIR',
      fallback: '',
      fallbackText: '`artifacts` in the data directory',
      description: 'Directory of the contents of artifacts; servers that share a database share it as well',
    }),
    artifactMaxMb: kind.integer({
      name: 'HEDDLE_ARTIFACT_MB',
      fallback: 1_024,
      min: 1,
      max: 1_048_576,
      description: 'Maximum size of one artifact, MiB',
    }),
    artifactsPerTask: kind.integer({
      name: 'HEDDLE_ARTIFACTS_PER_TASK',
      fallback: 100,
      min: 1,
      max: 10_000,
      description: 'Maximum number of artifacts of one attempt',
    }),
  },
} as const;
