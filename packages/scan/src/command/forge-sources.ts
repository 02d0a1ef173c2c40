import { bytes, optionalText, repeated, toggle, type ValuesOf } from '@heddle/base/setting';
import { refused } from '@heddle/base/terminal/refusal';
import type { SourceSpec } from '../options.ts';
import { FORGE_NAMES, type ForgeType, forgeAddress } from '../source/forge/address.ts';

const GIB = 1024 ** 3;

function endpoint(type: ForgeType, description: string) {
  return optionalText(`--${type}-endpoint <url>`, description, {
    allowed: `an https address such as https://${type}.example.com, or an http address of this machine`,
    check: (given) => forgeAddress(type, given) !== null,
  });
}

/** The options of repositories on a server. */
export const FORGE_OPTIONS = {
  github: repeated(
    '--github <owner>',
    'Repositories, wikis, issues and pull requests of an organization or a user, or of OWNER/REPOSITORY, with the token in GITHUB_TOKEN; may be repeated',
  ),
  gitlab: repeated(
    '--gitlab <group>',
    'Projects, wikis, issues and merge requests of a group with its subgroups, or of GROUP/PROJECT, with the token in GITLAB_TOKEN; may be repeated',
  ),
  githubEndpoint: endpoint('github', 'URL of a GitHub Enterprise Server'),
  gitlabEndpoint: endpoint('gitlab', 'URL of a self-hosted GitLab'),
  includeForks: toggle('--include-forks', 'Also scan forks'),
  skipArchived: toggle('--skip-archived', 'Skip archived repositories'),
  wikis: toggle('--no-wikis', 'Skip wikis'),
  issues: toggle('--no-issues', 'Skip issues, pull requests and their comments'),
  cloneBytesMax: bytes({
    flag: '--clone-size <size>',
    fallback: 8 * GIB,
    min: 1,
    max: 1024 ** 2 * GIB,
    description: 'Maximum size of a clone; larger repositories are skipped',
  }),
};

type ForgeRequest = ValuesOf<typeof FORGE_OPTIONS>;

const OWNERS: Readonly<Record<ForgeType, { form: RegExp; allowed: string }>> = {
  github: { form: /^[\w-]+(?:\/[.-]*\w[\w.-]*)?$/, allowed: 'an organization, a user, or OWNER/REPOSITORY' },
  gitlab: { form: /^[.-]*\w[\w.-]*(?:\/[.-]*\w[\w.-]*)*$/, allowed: 'a group, or GROUP/PROJECT' },
};

/** Returns the sources of the named organizations and groups. */
export function forgeSources(request: ForgeRequest): SourceSpec[] {
  const { includeForks, skipArchived, wikis, issues, cloneBytesMax } = request;
  const specsOf = (type: ForgeType): SourceSpec[] => {
    const address = type === 'github' ? request.githubEndpoint : request.gitlabEndpoint;
    return [...new Set(request[type])].map((owner) => {
      const { form, allowed } = OWNERS[type];
      if (!form.test(owner)) throw refused(`--${type} ${owner}: must be ${allowed}, as in the address of its page`);
      return {
        type,
        owner,
        ...(address === null ? {} : { endpoint: address }),
        include_forks: includeForks,
        skip_archived: skipArchived,
        skip_wikis: !wikis,
        skip_issues: !issues,
        clone_bytes_max: cloneBytesMax,
      };
    });
  };
  return [...specsOf('github'), ...specsOf('gitlab')];
}

/** Refuses options without the source that they belong to. */
export function refuseForgeContradictions(request: ForgeRequest): void {
  for (const type of ['github', 'gitlab'] as const) {
    const address = type === 'github' ? request.githubEndpoint : request.gitlabEndpoint;
    if (address !== null && request[type].length === 0)
      throw refused(`--${type}-endpoint needs --${type}, which names what to scan at ${FORGE_NAMES[type]}`);
  }
  if (request.github.length + request.gitlab.length > 0) return;
  const { includeForks, skipArchived, wikis, issues } = request;
  const flags = {
    '--include-forks': includeForks,
    '--skip-archived': skipArchived,
    '--no-wikis': !wikis,
    '--no-issues': !issues,
  };
  const given = Object.entries(flags).find(([, isGiven]) => isGiven)?.[0];
  if (given !== undefined) throw refused(`${given} needs --github OWNER or --gitlab GROUP`);
}
