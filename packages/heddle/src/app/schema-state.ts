import type { Database } from '@heddle/core/store/database';
import { currentVersion, functionsMatch, latestVersion } from '@heddle/core/store/migrate';
import { CommandFailure } from '@heddle/base/terminal/failure';

export interface SchemaState {
  /** 0 for an empty database. */
  version: number;
  latest: number;
  /** What is wrong and what to do; null if database and code match. */
  fault: string | null;
}

export async function schemaState(database: Database): Promise<SchemaState> {
  const [version, latest] = await Promise.all([currentVersion(database), latestVersion()]);
  const fault = faultOf(version, latest);
  if (fault !== null || (await functionsMatch(database))) return { version, latest, fault };
  return { version, latest, fault: FOREIGN_FUNCTIONS };
}

const FOREIGN_FUNCTIONS =
  'The database has the functions of another build of Heddle at the same schema version: ' +
  'stop the servers of the other build, then run `heddle migrate`, or start with --migrate';

function faultOf(version: number, latest: number): string | null {
  if (version === latest) return null;
  if (version > latest) {
    return (
      `The database is at schema version ${version}, newer than this Heddle (${latest}): ` +
      'run a version of Heddle at least as new as the one that migrated it'
    );
  }
  const found = version === 0 ? 'has no Heddle schema yet' : `is at schema version ${version}`;
  return `The database ${found}, and this Heddle needs ${latest}: run \`heddle migrate\`, or start with --migrate`;
}

/** @throws CommandFailure if the schema is older or newer than the code */
export async function requireSchema(database: Database): Promise<void> {
  const { fault } = await schemaState(database);
  if (fault !== null) throw new CommandFailure(fault);
}
