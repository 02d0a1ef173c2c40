import type { HttpVerification } from '../detect/rules/verification-spec.ts';

const ADDRESS = /^https:\/\/[^/?#]+/;

/** Returns what follows the host in the URL of a description. */
export function pathOf(url: string): string {
  return url.replace(ADDRESS, '');
}

/** Returns whether a description has no address: it is asked where the user says only. */
export function needsEndpoint({ url }: HttpVerification): boolean {
  return url.startsWith('/');
}

/** Returns the description for an address that the user names: what its own host needs is not needed there. */
export function atEndpoint(spec: HttpVerification): HttpVerification {
  const { url, companions, inactive, endpoint_inactive: rejected = inactive } = spec;
  const rest = JSON.stringify({ ...spec, url: pathOf(url), companions: [] });
  const isForHost = ({ name, of }: HttpVerification['companions'][number]): boolean =>
    of === 'nearby' && url.includes(`{{${name}}}`) && !new RegExp(`\\{\\{\\+?${name}\\}\\}`).test(rest);
  return { ...spec, companions: companions.filter((each) => !isForHost(each)), inactive: rejected };
}
