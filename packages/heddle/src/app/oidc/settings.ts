import { isLoopbackHost } from '@heddle/base/net/classify';
import * as kind from '../setting.ts';
import { parseRoleMapping } from './role-mapping.ts';

/** Settings of logins at an identity provider. */
export const OIDC_SETTING_GROUPS = {
  'OpenID Connect': {
    oidcIssuer: kind.address({
      name: 'HEDDLE_OIDC_ISSUER',
      fallback: null,
      fallbackText: '-',
      schemes: ['https', 'http'],
      description: 'Issuer URL of the identity provider that users log in at; `http` on loopback only',
    }),
    oidcClientId: kind.text({
      name: 'HEDDLE_OIDC_CLIENT_ID',
      fallback: '',
      fallbackText: '-',
      description: 'Id of Heddle at the provider, which must allow the redirect URI `HOST_URL/login/oidc/callback`',
    }),
    oidcClientSecret: kind.checkedText({
      name: 'HEDDLE_OIDC_CLIENT_SECRET',
      fallback: '',
      fallbackText: 'none: a public client',
      allowed: 'a string that is not empty',
      check: (given) => given !== '',
      secret: true,
      description: 'Secret of that client',
    }),
    oidcClientSecretFile: kind.text({
      name: 'HEDDLE_OIDC_CLIENT_SECRET_FILE',
      fallback: '',
      fallbackText: '-',
      description:
        'File with this secret, instead of the variable; it is read again every hour, and when the provider rejects it',
    }),
    oidcScopes: kind.text({
      name: 'HEDDLE_OIDC_SCOPES',
      fallback: 'openid profile email',
      description:
        'Scopes that are requested, separated by spaces; some providers need `groups` for the claim of the roles',
    }),
    oidcLabel: kind.text({
      name: 'HEDDLE_OIDC_LABEL',
      fallback: 'single sign-on',
      description: 'What users call the provider: the console says “Log in with …”',
    }),
    oidcRoles: kind.checkedText({
      name: 'HEDDLE_OIDC_ROLES',
      fallback: '',
      fallbackText: '-',
      allowed: '`CLAIM: VALUE=ROLE, …` with the roles viewer, operator, operator+command, admin; `*` for everyone',
      check: (given) => parseRoleMapping(given) !== null,
      description:
        'Who has which role: a claim, and the role of each of its values, such as `groups: admins=admin, sre=operator, *=viewer`; users without a role are refused',
    }),
  },
} as const;

type Values = kind.ValuesOf<(typeof OIDC_SETTING_GROUPS)['OpenID Connect']>;

/** Faults of settings that are valid by themselves. */
export function oidcFaults(values: Values): string[] {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcClientSecretFile, oidcScopes, oidcRoles } = values;
  if (oidcIssuer === null) return [];
  const { protocol, hostname } = new URL(oidcIssuer);
  const faults: string[] = [];
  if (protocol === 'http:' && !isLoopbackHost(hostname)) {
    faults.push('HEDDLE_OIDC_ISSUER: must begin with https:// unless the provider is on loopback');
  }
  if (oidcClientId === '') faults.push('HEDDLE_OIDC_CLIENT_ID: is required with HEDDLE_OIDC_ISSUER');
  if (oidcRoles === '') {
    faults.push('HEDDLE_OIDC_ROLES: is required with HEDDLE_OIDC_ISSUER, such as `groups: admins=admin, *=viewer`');
  }
  if (oidcClientSecret !== '' && oidcClientSecretFile !== '') {
    faults.push('HEDDLE_OIDC_CLIENT_SECRET_FILE: must not be set together with HEDDLE_OIDC_CLIENT_SECRET');
  }
  if (!oidcScopes.split(/\s+/).includes('openid')) faults.push('HEDDLE_OIDC_SCOPES: must contain openid');
  return faults;
}
