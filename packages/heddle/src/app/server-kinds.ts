import { Errors } from 'typebox/schema';

import type { JsonObject } from '@heddle/base/json';
import { memberPath } from '@heddle/base/json/path';
import { replaceSecrets, secretNamesIn } from '@heddle/base/vocabulary/secret-reference';
import { expressionsOf } from '@heddle/core/engine/flow/expressions';
import type { KindDirectory } from '@heddle/core/engine/kinds/port';
import type { KindDefinition } from '@heddle/kit';
import { describeKind } from '../dispatch/kind/describe-kind.ts';
import { inputFaults } from '../dispatch/kind/check-input.ts';
import type { Kinds } from '../http/ports.ts';

const FAULTS_MAX = 10;

/** The kinds of the database, and the handlers of those that this server runs itself. */
export class ServerKinds implements Kinds {
  readonly #directory: KindDirectory;
  readonly #own = new Map<string, KindDefinition>();

  constructor(directory: KindDirectory) {
    this.#directory = directory;
  }

  /** Describes the kinds that this server runs in the database. */
  async add(kinds: readonly KindDefinition[]): Promise<void> {
    for (const kind of kinds) this.#own.set(kind.name, kind);
    await this.#directory.describe(kinds.map(describeKind));
  }

  list(page: Parameters<KindDirectory['list']>[0]): ReturnType<KindDirectory['list']> {
    return this.#directory.list(page);
  }

  get(name: string): ReturnType<KindDirectory['get']> {
    return this.#directory.get(name);
  }

  async inputFaults(kind: string, input: JsonObject): Promise<string[]> {
    // Their values are checked by the worker, which knows them.
    if (expressionsOf(kind, input).length > 0) return [];
    const withSecrets = replaceSecrets(input, new Map(secretNamesIn(input).map((name) => [name, name])));
    const own = this.#own.get(kind);
    if (own !== undefined) return own.schema === null ? [] : inputFaults(own.schema, withSecrets);
    const schema = (await this.#directory.get(kind))?.input_schema ?? null;
    return schema === null ? [] : schemaFaults(schema, withSecrets);
  }
}

function schemaFaults(schema: JsonObject, input: JsonObject): string[] {
  const [, errors] = Errors(schema, input);
  return errors.slice(0, FAULTS_MAX).map(({ instancePath, message }) => `${placeOf(instancePath)}: ${message}`);
}

/** Converts a JSON Pointer below the input. */
function placeOf(pointer: string): string {
  const steps = pointer.split('/').slice(1);
  return steps.reduce((path, step) => memberPath(path, step.replaceAll('~1', '/').replaceAll('~0', '~')), 'input');
}
