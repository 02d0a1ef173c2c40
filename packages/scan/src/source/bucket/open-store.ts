import type { BucketSpec, BucketStore } from './store.ts';

/** Opens the bucket of a specification. */
export async function openStore(spec: BucketSpec): Promise<BucketStore> {
  switch (spec.type) {
    case 's3':
      return (await import('../s3/store.ts')).S3Store.open(spec);
    case 'gcs':
      return (await import('../gcs/store.ts')).GcsStore.open(spec);
    case 'azure':
      return (await import('../azure/store.ts')).AzureStore.open(spec);
  }
}
