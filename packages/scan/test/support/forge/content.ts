import type { SourceSpec } from '../../../src/options.ts';
import type { ForgeContent, ForgeServer } from './forge-server.ts';

type ForgeSpec = Extract<SourceSpec, { type: 'github' | 'gitlab' }>;

/** A key that the rule of these tests finds. */
export const key = (number: number): string => `MADEUP-${String(100_000 + number)}`;

export const TOKEN = ['token', 'of', 'the', 'tests'].join('-');

export function specOf(type: ForgeSpec['type'], server: ForgeServer, changes: Partial<ForgeSpec> = {}): ForgeSpec {
  return { type, owner: 'acme', endpoint: server.url, clone_bytes_max: 1024 ** 3, ...changes };
}

function basic(user: string): string {
  return `Basic ${Buffer.from(`${user}:${TOKEN}`).toString('base64')}`;
}

const githubPage = (repository: string, path: string, url: string) => ({ html_url: `${url}/${repository}/${path}` });

/** An organization with three repositories, one of them a fork, as GitHub describes it. */
export function githubContent(url: () => string): ForgeContent {
  const repository = (id: number, name: string, changes: object = {}) => ({
    id,
    full_name: `acme/${name}`,
    fork: false,
    archived: false,
    has_wiki: false,
    has_issues: true,
    ...changes,
  });
  return {
    api: '/api/v3',
    authorization: { api: `Bearer ${TOKEN}`, git: basic('x-access-token') },
    objects: { '/users/acme': { login: 'acme', type: 'Organization' } },
    lists: {
      '/orgs/acme/repos': [
        repository(30, 'tools', { archived: true, has_issues: false }),
        repository(10, 'shop', { has_wiki: true }),
        repository(20, 'fork', { fork: true }),
      ],
      get '/repos/acme/shop/issues'() {
        return [
          {
            id: 1,
            number: 1,
            title: `Key ${key(11)}`,
            body: 'in the title',
            ...githubPage('acme/shop', 'issues/1', url()),
          },
          { id: 2, number: 2, title: 'A pull request', body: key(12), ...githubPage('acme/shop', 'pull/2', url()) },
          { id: 3, number: 3, title: 'Nothing', body: null, ...githubPage('acme/shop', 'issues/3', url()) },
        ];
      },
      get '/repos/acme/shop/issues/comments'() {
        return [{ id: 7, body: `See ${key(13)}`, ...githubPage('acme/shop', 'issues/1#issuecomment-7', url()) }];
      },
      get '/repos/acme/shop/pulls/comments'() {
        return [{ id: 8, body: `Line ${key(14)}`, html_url: 'https://elsewhere.example/' }];
      },
      '/repos/acme/tools/pulls': [],
      '/repos/acme/tools/issues/comments': [],
      '/repos/acme/tools/pulls/comments': [],
    },
  };
}

/** A group with a project in a subgroup, as GitLab describes it. */
export function gitlabContent(): ForgeContent {
  return {
    api: '/api/v4',
    authorization: { api: `Bearer ${TOKEN}`, git: basic('oauth2') },
    objects: {},
    lists: {
      '/groups/acme/projects': [
        { id: 5, path_with_namespace: 'acme/web/shop', wiki_enabled: true, wiki_access_level: 'enabled' },
        {
          id: 6,
          path_with_namespace: 'acme/notes',
          repository_access_level: 'disabled',
          wiki_access_level: 'disabled',
        },
      ],
      '/projects/5/issues': [
        { id: 101, iid: 1, title: 'One', description: key(21), user_notes_count: 3 },
        { id: 102, iid: 2, title: 'Two', description: null, user_notes_count: 0 },
      ],
      '/projects/5/issues/1/notes': [
        { id: 901, body: key(22) },
        { id: 902, body: 'no' },
        { id: 903, body: key(23) },
      ],
      '/projects/5/merge_requests': [{ id: 201, iid: 1, title: key(24), description: '', user_notes_count: 0 }],
      '/projects/6/issues': [{ id: 103, iid: 1, title: 'Only issues', description: key(25), user_notes_count: 0 }],
      '/projects/6/merge_requests': [],
    },
  };
}
