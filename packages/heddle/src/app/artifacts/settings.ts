import * as kind from '../setting.ts';

/** Files of tasks. */
export const ARTIFACT_SETTING_GROUPS = {
  Artifacts: {
    artifactsDir: kind.text({
      name: 'HEDDLE_ARTIFACTS_DIR',
      fallback: '',
      fallbackText: '`artifacts` in the data directory',
      description: 'Directory of the contents of artifacts; servers that share a database share it as well',
    }),
    artifactsS3: kind.bucketAddress({
      name: 'HEDDLE_ARTIFACTS_S3',
      fallback: '',
      fallbackText: 'the directory',
      description:
        'Bucket of the contents of artifacts, instead of the directory: `s3://BUCKET/PREFIX?region=…&endpoint=…`',
    }),
    artifactMaxMb: kind.integer({
      name: 'HEDDLE_ARTIFACT_MB',
      fallback: 1_024,
      min: 1,
      max: 1_048_576,
      description: 'Maximum size of one artifact, MiB; at most 5,120 in a bucket',
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
