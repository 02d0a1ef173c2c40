/** Requirements for a SARIF file: valid by the OASIS schema, and within the limits of code scanning. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Compile } from 'typebox/schema';

export interface SarifRegion {
  startLine: number;
  startColumn?: number;
  endLine: number;
  endColumn?: number;
  byteOffset: number;
  byteLength: number;
}

export interface SarifResult {
  ruleId: string;
  ruleIndex: number;
  level: string;
  message: { text: string };
  locations: { physicalLocation: { artifactLocation: { uri: string }; region: SarifRegion; contextRegion?: object } }[];
  partialFingerprints: Record<string, string>;
}

export interface SarifNotification {
  level: string;
  message: { text: string };
  descriptor?: { id: string };
}

export interface SarifRule {
  id: string;
  name?: string;
  shortDescription: { text: string };
  fullDescription: { text: string };
  help: { text: string };
  properties: { tags: string[]; 'security-severity': string };
}

export interface SarifRun {
  columnKind: string;
  results: SarifResult[];
  invocations: { executionSuccessful: boolean; toolExecutionNotifications: SarifNotification[] }[];
  tool: {
    driver: {
      name: string;
      semanticVersion: string;
      informationUri: string;
      rules: SarifRule[];
      notifications: { id: string }[];
    };
  };
}

export interface Sarif {
  $schema: string;
  version: string;
  runs: SarifRun[];
}

/** SARIF 2.1.0 as approved by OASIS (`rtm.5`). */
const SCHEMA_PATH = fileURLToPath(import.meta.resolve('@microsoft/jest-sarif'));
const SCHEMA = JSON.parse(
  readFileSync(new URL('schemas/sarif-2.1.0-rtm.5.json', `file://${SCHEMA_PATH}`), 'utf8'),
  // `language` has a pattern that is invalid in Unicode mode, which today's schema validators use.
  (key, value: unknown) => (key === 'language' ? {} : value),
) as Record<string, unknown>;
// The schema is draft 4, where `id` names the schema; today's drafts have no such keyword.
delete SCHEMA.id;
const schema = Compile(SCHEMA);

const URI = /^([a-z][a-z0-9+.-]*:)?[\w\-.~!$&'()*+,;=:@%/]*$/i;

/** Limits of code scanning, which rejects files that exceed them. */
const CODE_SCANNING = { rules_max: 25_000, tags_max: 20, locations_max: 1000, text_length_max: 1024 };

export function assertSarif(value: unknown): asserts value is Sarif {
  const [isValid, faults] = schema.Errors(value);
  assert.ok(isValid, JSON.stringify(faults.slice(0, 5)));
  const log = value as Sarif;
  assert.match(log.$schema, /^https:.*sarif-schema-2\.1\.0\.json$/);
  assert.equal(log.runs.length, 1);
  const run = log.runs[0]!;
  assertDriver(run.tool.driver);
  for (const result of run.results) assertResult(result, run);
  assert.equal(run.invocations.length, 1);
  assertInvocation(run);
}

function assertDriver(driver: SarifRun['tool']['driver']): void {
  assert.match(driver.semanticVersion, /^\d+\.\d+\.\d+/);
  assert.equal(URL.canParse(driver.informationUri), true);
  assert.ok(driver.rules.length <= CODE_SCANNING.rules_max);
  assert.equal(new Set(driver.rules.map(({ id }) => id)).size, driver.rules.length);
  for (const { id, name, shortDescription, fullDescription, help, properties } of driver.rules) {
    assert.ok(id !== '' && help.text !== '');
    for (const { text } of [shortDescription, fullDescription]) {
      assert.ok(text !== '' && text.length <= CODE_SCANNING.text_length_max);
    }
    assert.notEqual(name, id);
    if (name !== undefined) assert.match(name, /^\p{Lu}?[\p{L}\p{N}]*$/u);
    assert.ok(properties.tags.length <= CODE_SCANNING.tags_max);
    assert.match(properties['security-severity'], /^(10|\d)\.\d$/);
  }
}

function assertResult(result: SarifResult, run: SarifRun): void {
  assert.ok(result.message.text !== '');
  assert.equal(run.tool.driver.rules[result.ruleIndex]?.id, result.ruleId);
  assert.ok(result.locations.length > 0 && result.locations.length <= CODE_SCANNING.locations_max);
  const { artifactLocation, region } = result.locations[0]!.physicalLocation;
  assert.match(artifactLocation.uri, URI);
  assert.ok(region.endLine >= region.startLine);
}

function assertInvocation(run: SarifRun): void {
  const described = run.tool.driver.notifications.map(({ id }) => id);
  for (const notification of run.invocations[0]!.toolExecutionNotifications) {
    assert.ok(notification.message.text !== '');
    if (notification.descriptor !== undefined) assert.ok(described.includes(notification.descriptor.id));
  }
}
