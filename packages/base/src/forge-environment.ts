/** The variables that say how to reach GitHub and GitLab: tokens and proxies. */
export type ForgeEnvironment = Readonly<
  Record<'GITHUB_TOKEN' | 'GITLAB_TOKEN' | 'HTTPS_PROXY' | 'https_proxy' | 'NO_PROXY' | 'no_proxy', string | undefined>
>;

export function forgeEnvironment(): ForgeEnvironment {
  const { GITHUB_TOKEN, GITLAB_TOKEN, HTTPS_PROXY, https_proxy, NO_PROXY, no_proxy } = process.env;
  return { GITHUB_TOKEN, GITLAB_TOKEN, HTTPS_PROXY, https_proxy, NO_PROXY, no_proxy };
}
