import type { FindingDto, NewWorkflowDto } from './wire-types.ts';

type Source =
  | { type: 'list'; paths: string[] }
  | ({ type: 's3'; bucket: string; prefix: string } & BucketService)
  | { type: 'image'; images: string[] };

/** Where buckets are: the members of a source of the type `s3`. Without an endpoint, at AWS. */
export interface BucketService {
  endpoint?: string;
  region?: string;
  force_path_style?: boolean;
}

/**
 * Returns the workflow that verifies the secrets of findings again. No secret is stored, so it reads each place once
 * more, on a machine that may scan it. For each target it has a scan of its places, and a task that keeps the verdicts.
 *
 * @param findings none of a history, whose places cannot be read by their path
 * @param service that of the buckets, which the path of a finding does not name
 */
export function verificationOf(findings: readonly FindingDto[], service: BucketService = {}): NewWorkflowDto {
  const targets = Map.groupBy(findings, ({ target }) => target);
  const children = [...targets].map(([target, found]) => ({
    mode: 'sequential' as const,
    children: [
      {
        kind: 'ObjectScan',
        // Places that are gone make the scan fail, at least in part; the verdicts of all others are kept.
        policy: 'ContinueOnFailure' as const,
        input: { sources: sourcesOf(found, service), options: { verify: true, context_lines: 0, confidence: 'low' } },
      },
      { kind: 'ObjectScanAggregator', input: { target, verdicts: true } },
    ],
  }));
  return { name: 'verify findings', root: { mode: 'parallel', policy: 'ContinueOnFailure', children } };
}

/** A part of an image in a registry, as opposed to an entry of an archive. */
const IMAGE_PART = /^([^/!][^!]*)!(?:layer \d+|config) \(/;

/** An entry of an archive is read with its archive. */
function sourcesOf(findings: readonly FindingDto[], service: BucketService): Source[] {
  const images = new Set<string>();
  const paths = new Set<string>();
  for (const { path } of findings) {
    const image = IMAGE_PART.exec(path)?.[1];
    if (image === undefined) paths.add(path.split('!')[0]!);
    else images.add(image);
  }
  const buckets = [...paths].flatMap((path): Source[] => {
    const [, bucket, prefix] = /^s3:\/\/([^/]+)\/(.*)$/s.exec(path) ?? [];
    return bucket === undefined || prefix === undefined ? [] : [{ type: 's3', bucket, prefix, ...service }];
  });
  const files = [...paths].filter((path) => !path.startsWith('s3://'));
  return [
    ...(files.length === 0 ? [] : [{ type: 'list' as const, paths: files }]),
    ...(images.size === 0 ? [] : [{ type: 'image' as const, images: [...images] }]),
    ...buckets,
  ];
}
