/**
 * Where a process is killed that runs an attempt with log lines, a secret and artifacts, and sweeps contents afterwards.
 * The calls of each statement, of each step in files and of each request to a bucket; the first is 1.
 */
export const ATTEMPT_CRASH_CALLS: Readonly<Record<string, readonly number[]>> = {
  // A secret is set; the attempt reads it, and both are recorded.
  'named_secrets.put': [1],
  'named_secrets.find': [1],
  'audit.append': [1],
  // Lines while it runs, and the rest at its end.
  'logs.append': [1, 2],
  // Three files, one of which replaces another; the transaction ends when the content is in its place.
  'artifacts.put': [1, 2, 3],
  'artifacts.of_attempt': [1, 3],
  // The sweep of contents that nothing uses, and of those that no row names.
  'artifacts.delete_lost': [1],
  'artifacts.unused': [1],
  'artifacts.take_unused': [1],
  'artifacts.unknown': [1],
};

/** Those of the transactions and of the end of the attempt, which other tests have too. */
export const ATTEMPT_SHARED_CALLS: Readonly<Record<string, readonly number[]>> = {
  commit: [1, 2, 3, 4, 5],
  // By itself or with a claim.
  report: [1],
};

/** Steps of the store of contents, by store. */
export const STORE_CRASH_CALLS: Readonly<Record<'directory' | 'bucket', Readonly<Record<string, readonly number[]>>>> =
  {
    directory: {
      'fs.mkdir': [1, 2],
      'fs.open': [1, 2, 3],
      'fs.write': [1, 3],
      'fs.sync': [1, 2, 3],
      'fs.rename': [1, 2, 3],
      // The unfinished file, which is gone already; then the content that the sweep removes.
      'fs.rm': [1, 4],
      'fs.readdir': [1, 2],
    },
    bucket: {
      'fs.open': [1],
      'fs.write': [1],
      'fs.rm': [1],
      's3.PutObject': [1, 2, 3],
      's3.HeadObject': [1, 3],
      's3.DeleteObjects': [1],
      's3.ListObjectsV2': [1],
    },
  };
