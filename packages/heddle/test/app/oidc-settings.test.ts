import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { TokenScope } from '@heddle/core/domain/token';
import { loadConfiguration } from '../../src/app/config.ts';
import { parseRoleMapping, scopesOfClaims } from '../../src/app/oidc/role-mapping.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';

const scopesOf = (mapping: string, claims: Record<string, unknown>): TokenScope[] | null =>
  scopesOfClaims(parseRoleMapping(mapping)!, claims);

describe('roles of claims', () => {
  test('are those of every value that matches, together', () => {
    const mapping = 'groups: admins=admin, sre=operator, commanders=operator+command, *=viewer';
    const cases: [unknown, TokenScope[]][] = [
      [['admins', 'sre'], ['admin']],
      [['sre'], ['read', 'submit', 'operate']],
      [['commanders'], ['read', 'submit', 'operate', 'command']],
      ['sre', ['read', 'submit', 'operate']],
      [['ADMINS'], ['read']],
      [['toString'], ['read']],
      [{ admins: true }, ['read']],
      [undefined, ['read']],
    ];
    for (const [groups, scopes] of cases) {
      assert.deepEqual(new Set(scopesOf(mapping, { groups })), new Set(scopes), JSON.stringify(groups));
    }
  });

  test('are none without a match', () => {
    assert.equal(scopesOf('groups: sre=operator', { groups: ['staff'] }), null);
    assert.equal(scopesOf('groups: sre=operator', {}), null);
    assert.equal(scopesOf('__proto__.x: sre=operator', {}), null);
  });

  test('may be of a nested claim, of a name with dots, and of values with an equals sign', () => {
    const nested = { realm_access: { roles: ['heddle-admin'] } };
    assert.deepEqual(scopesOf('realm_access.roles: heddle-admin=admin', nested), ['admin']);
    assert.deepEqual(scopesOf('https://example.com/roles: ops=viewer', { 'https://example.com/roles': 'ops' }), [
      'read',
    ]);
    assert.deepEqual(scopesOf('groups: cn=ops=viewer', { groups: ['cn=ops'] }), ['read']);
  });

  test('cannot be misspelled', () => {
    for (const text of [
      '',
      'groups',
      'groups:',
      'groups: sre',
      'groups: sre=root',
      'groups: =admin',
      'groups: a=admin,',
    ]) {
      assert.equal(parseRoleMapping(text), null, text);
    }
  });
});

describe('settings of a provider', () => {
  const complete = {
    HEDDLE_OIDC_ISSUER: 'https://id.example.com',
    HEDDLE_OIDC_CLIENT_ID: 'heddle',
    HEDDLE_OIDC_ROLES: 'groups: *=viewer',
  };
  const faultsOf = (flags: Record<string, string | undefined>): readonly string[] => {
    try {
      loadConfiguration({ flags: { ...complete, ...flags }, environment: {}, workingDirectory: '/' });
      return [];
    } catch (error) {
      assert.ok(error instanceof ConfigurationError);
      return error.message.split('\n');
    }
  };

  test('are complete, or every fault is named', () => {
    assert.deepEqual(faultsOf({}), []);
    assert.deepEqual(faultsOf({ HEDDLE_OIDC_ISSUER: 'http://127.0.0.1:8080' }), []);
    const cases: [Record<string, string | undefined>, RegExp][] = [
      [{ HEDDLE_OIDC_ISSUER: 'http://id.example.com' }, /HEDDLE_OIDC_ISSUER: must begin with https/],
      [{ HEDDLE_OIDC_CLIENT_ID: undefined }, /HEDDLE_OIDC_CLIENT_ID: is required/],
      [{ HEDDLE_OIDC_ROLES: undefined }, /HEDDLE_OIDC_ROLES: is required/],
      [{ HEDDLE_OIDC_ROLES: 'sre=operator' }, /HEDDLE_OIDC_ROLES: must be `CLAIM: VALUE=ROLE/],
      [{ HEDDLE_OIDC_SCOPES: 'profile' }, /HEDDLE_OIDC_SCOPES: must contain openid/],
      [{ HEDDLE_OIDC_CLIENT_SECRET: 'x', HEDDLE_OIDC_CLIENT_SECRET_FILE: 'y' }, /CLIENT_SECRET_FILE: must not be set/],
    ];
    for (const [flags, fault] of cases) assert.match(faultsOf(flags).join('\n'), fault);
  });

  test('do not show the secret', () => {
    const flags = { ...complete, HEDDLE_OIDC_CLIENT_SECRET: 's3cret-of-the-client' };
    const { effective } = loadConfiguration({ flags, environment: {}, workingDirectory: '/' });
    assert.ok(!JSON.stringify(effective).includes('s3cret'));
  });
});
