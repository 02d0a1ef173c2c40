import { InvalidArgumentError } from 'commander';

import type { ClientContext } from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { UsageFailure } from '../output/failure.ts';
import { given } from '../output/list-options.ts';
import { watchWorkflow } from '../output/workflow-progress.ts';
import { type BucketService, verificationOf } from '@heddle/client';
import type { Finding } from '../output/wire.ts';
import { count } from '@heddle/base/terminal/text';

export interface FindingsVerifyOptions {
  target?: string;
  rule?: string;
  path?: string;
  onlyActive?: boolean;
  s3Endpoint?: string;
  s3Region?: string;
  s3PathStyle?: boolean;
}

const BUCKET_FLAGS: Readonly<Record<keyof BucketService, string>> = {
  endpoint: '--s3-endpoint',
  region: '--s3-region',
  force_path_style: '--s3-path-style',
};

/** Places that one workflow reads. */
const PLACES_MAX = 10_000;

/**
 * Verifies the secrets of findings again. No secret is stored, so a workflow reads each place once more, on a machine
 * that may scan it, and what providers say of the secrets that are still there is kept with the findings.
 *
 * @param ids the findings; if empty, all open ones that the options select
 * @param write prints the verified findings
 */
export async function verifyFindings(
  context: ClientContext,
  options: FindingsVerifyOptions,
  ids: readonly string[],
  write: (findings: readonly Finding[]) => void,
): Promise<number | undefined> {
  const { client, output } = context;
  const chosen = await chosenFindings(context, options, ids);
  if (chosen.length > PLACES_MAX)
    throw new UsageFailure(
      `${chosen.length} findings are too many for one verification, which reads ${PLACES_MAX} places`,
      {
        hint: 'select fewer with --target, --rule or --path',
      },
    );
  const readable = chosen.filter(({ commit }) => commit === null);
  if (readable.length < chosen.length)
    output.notice(
      `${count(chosen.length - readable.length, 'finding')} of a history cannot be read again by the path; ` +
        'scan the repository with "verify": true instead',
    );
  const service = bucketService(options, readable);
  if (readable.length === 0) {
    output.result([], () => output.line('no findings to verify'));
    return undefined;
  }
  const { id } = await client.submitWorkflow(verificationOf(readable, service));
  if (!(await hasEnded(context, id))) return CLIENT_EXIT.interrupted;
  const before = new Map(readable.map((finding) => [finding.id, finding.verification?.checked_at]));
  const verified = (await chosenFindings(context, options, ids)).filter((finding) => before.has(finding.id));
  const isUnchanged = (finding: Finding): boolean => finding.verification?.checked_at === before.get(finding.id);
  const left = verified.filter(isUnchanged).length;
  const shown = verified.filter(
    ({ verification }) => options.onlyActive !== true || verification?.verdict === 'active',
  );
  output.result(shown, () => write(shown));
  if (left > 0)
    output.notice(
      `${count(left, 'finding')} ${left === 1 ? 'was' : 'were'} not verified: the secret is no longer at its place, the place could not be read ` +
        `(see heddle workflow get ${id}), or only a rule of your own finds it${bucketAdvice(service, verified.filter(isUnchanged))}`,
    );
  return undefined;
}

/** Parses the address of a service with the S3 API, as `heddle scan` does. */
export function parseEndpoint(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It must be an http or https URL such as http://127.0.0.1:9000.');
}

/** Returns the service that the options name, as `heddle scan` does; refuses them if no finding is in a bucket. */
function bucketService(
  { s3Endpoint, s3Region, s3PathStyle }: FindingsVerifyOptions,
  findings: readonly Finding[],
): BucketService {
  const service = given({ endpoint: s3Endpoint, region: s3Region, force_path_style: s3PathStyle });
  const flag = Object.keys(service)
    .map((member) => BUCKET_FLAGS[member as keyof BucketService])
    .at(0);
  if (flag !== undefined && !findings.some(({ path }) => path.startsWith('s3://')))
    throw new UsageFailure(`${flag} is for findings in buckets, and none of these is in one`, {
      hint: 'omit it, or select others with --target, --rule or --path',
    });
  return service;
}

/** Returns the remedy for findings in a bucket that is perhaps not at AWS. */
function bucketAdvice({ endpoint }: BucketService, left: readonly Finding[]): string {
  const isMissing = endpoint === undefined && left.some(({ path }) => path.startsWith('s3://'));
  return isMissing ? '; buckets of services other than AWS need --s3-endpoint' : '';
}

async function chosenFindings(
  { client }: ClientContext,
  { target, rule, path }: FindingsVerifyOptions,
  ids: readonly string[],
): Promise<Finding[]> {
  const chosen: Finding[] = [];
  for (const id of ids) chosen.push(await client.findings.get(id));
  if (ids.length > 0) return chosen;
  for await (const finding of client.findings.all(given({ target, rule, path, triage: 'open' as const }))) {
    if (finding.state !== 'gone') chosen.push(finding);
    if (chosen.length > PLACES_MAX) break;
  }
  return chosen;
}

/** Follows the workflow until it ends. Returns false if that was interrupted. */
async function hasEnded({ client, output, io }: ClientContext, id: string): Promise<boolean> {
  const stop = new AbortController();
  const unsubscribe = io.onInterrupt(() => stop.abort());
  try {
    if (!output.json) return (await watchWorkflow(client, id, { output, signal: stop.signal })).ended;
    for await (const { type } of client.watchWorkflow(id, stop.signal)) if (type === 'end') return true;
    return false;
  } finally {
    unsubscribe();
  }
}
