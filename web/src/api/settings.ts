import type { ActionDefinition, CreatedToken, NewToken, RuleDefinition } from '@heddle/client';
import { getJson, segment } from './client.ts';
import { sendJson } from './tasks.ts';

export async function createToken(token: NewToken): Promise<CreatedToken> {
  return (await (await sendJson('POST', '/v1/tokens', token)).json()) as CreatedToken;
}

export async function setSecret(name: string, value: string, grants: readonly string[] | null): Promise<void> {
  await sendJson('PUT', `/v1/secrets/${segment(name)}`, { value, ...(grants === null ? {} : { grants }) });
}

export async function deleteSecret(name: string): Promise<void> {
  await sendJson('DELETE', `/v1/secrets/${segment(name)}`);
}

/** What is stored once and named by many tasks. */
export type DefinitionType = 'rule' | 'action';

export interface StoredDefinition {
  name: string;
  body: object;
  updated_at: string;
}

export async function listDefinitions(type: DefinitionType, signal: AbortSignal): Promise<StoredDefinition[]> {
  if (type === 'rule') {
    const rules = await getJson<RuleDefinition[]>('/v1/rules', signal);
    return rules.map(({ name, rule, updated_at }) => ({ name, body: rule, updated_at }));
  }
  const actions = await getJson<ActionDefinition[]>('/v1/actions', signal);
  return actions.map(({ name, action, updated_at }) => ({ name, body: action, updated_at }));
}

export async function storeDefinition(type: DefinitionType, name: string, body: object): Promise<void> {
  await sendJson('PUT', `/v1/${type}s/${segment(name)}`, body);
}

export async function deleteDefinition(type: DefinitionType, name: string): Promise<void> {
  await sendJson('DELETE', `/v1/${type}s/${segment(name)}`);
}
