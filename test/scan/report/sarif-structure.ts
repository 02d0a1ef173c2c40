/** What SARIF 2.1.0 requires of the parts that Heddle writes: members, types, values, indexes. */
import assert from 'node:assert/strict';

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
  locations: { physicalLocation: { artifactLocation: { uri: string }; region: SarifRegion } }[];
  partialFingerprints: Record<string, string>;
}

export interface SarifNotification {
  level: string;
  message: { text: string };
  descriptor?: { id: string };
}

export interface SarifRun {
  columnKind: string;
  results: SarifResult[];
  invocations: { executionSuccessful: boolean; toolExecutionNotifications: SarifNotification[] }[];
  tool: {
    driver: {
      name: string;
      semanticVersion: string;
      rules: { id: string; shortDescription: { text: string }; help: { text: string } }[];
      notifications: { id: string }[];
    };
  };
}

export interface Sarif {
  $schema: string;
  version: string;
  runs: SarifRun[];
}

const LEVELS = ['none', 'note', 'warning', 'error'];
const URI = /^([a-z][a-z0-9+.-]*:)?[\w\-.~!$&'()*+,;=:@%/]*$/i;

/** Members that the schema knows; it allows no others. */
const KNOWN = {
  log: ['$schema', 'version', 'runs'],
  run: ['columnKind', 'results', 'invocations', 'tool'],
  result: [
    'ruleId',
    'ruleIndex',
    'level',
    'message',
    'locations',
    'partialFingerprints',
    'properties',
    'baselineState',
  ],
  region: ['startLine', 'startColumn', 'endLine', 'endColumn', 'byteOffset', 'byteLength'],
  invocation: ['executionSuccessful', 'toolExecutionNotifications', 'properties'],
  notification: ['descriptor', 'level', 'message', 'locations', 'properties'],
  driver: ['name', 'version', 'semanticVersion', 'rules', 'notifications'],
  rule: ['id', 'name', 'shortDescription', 'fullDescription', 'help', 'defaultConfiguration', 'properties'],
} as const;

function only(value: object, known: keyof typeof KNOWN): void {
  const others = Object.keys(value).filter((name) => !(KNOWN[known] as readonly string[]).includes(name));
  assert.deepEqual(others, [], `${known} has members that are not in the schema`);
}

function atLeast(value: unknown, min: number, what: string): void {
  assert.ok(Number.isSafeInteger(value) && (value as number) >= min, `${what} is ${String(value)}`);
}

export function assertSarif(value: unknown): asserts value is Sarif {
  const log = value as Sarif;
  only(log, 'log');
  assert.equal(log.version, '2.1.0');
  assert.match(log.$schema, /^https:.*sarif-schema-2\.1\.0\.json$/);
  assert.equal(log.runs.length, 1);
  const run = log.runs[0]!;
  only(run, 'run');
  assert.ok(['utf16CodeUnits', 'unicodeCodePoints'].includes(run.columnKind));
  const { driver } = run.tool;
  only(driver, 'driver');
  assert.match(driver.semanticVersion, /^\d+\.\d+\.\d+/);
  for (const rule of driver.rules) {
    only(rule, 'rule');
    assert.ok(rule.id !== '' && rule.shortDescription.text !== '' && rule.help.text !== '');
  }
  for (const result of run.results) assertResult(result, run);
  assert.equal(run.invocations.length, 1);
  assertInvocation(run);
}

function assertResult(result: SarifResult, run: SarifRun): void {
  only(result, 'result');
  assert.ok(LEVELS.includes(result.level));
  assert.ok(result.message.text !== '');
  assert.equal(run.tool.driver.rules[result.ruleIndex]?.id, result.ruleId);
  assert.ok(Object.values(result.partialFingerprints).every((text) => typeof text === 'string'));
  const { artifactLocation, region } = result.locations[0]!.physicalLocation;
  assert.match(artifactLocation.uri, URI);
  only(region, 'region');
  atLeast(region.startLine, 1, 'startLine');
  atLeast(region.endLine, region.startLine, 'endLine');
  if (region.startColumn !== undefined) atLeast(region.startColumn, 1, 'startColumn');
  if (region.endColumn !== undefined) atLeast(region.endColumn, 1, 'endColumn');
  atLeast(region.byteOffset, 0, 'byteOffset');
  atLeast(region.byteLength, 0, 'byteLength');
}

function assertInvocation(run: SarifRun): void {
  const invocation = run.invocations[0]!;
  only(invocation, 'invocation');
  assert.equal(typeof invocation.executionSuccessful, 'boolean');
  const described = run.tool.driver.notifications.map(({ id }) => id);
  for (const notification of invocation.toolExecutionNotifications) {
    only(notification, 'notification');
    assert.ok(LEVELS.includes(notification.level));
    assert.ok(notification.message.text !== '');
    if (notification.descriptor !== undefined) assert.ok(described.includes(notification.descriptor.id));
  }
}
