/** Runs an embedded PostgreSQL until it is killed: `node embedded-process.ts DATA_DIR` prints one line of JSON when it is up. */
import { systemClock } from '@heddle/base/clock';
import { createLogger } from '@heddle/base/log';
import { startEmbeddedPostgres } from '@heddle/core/store/embedded/server';

const log = createLogger({ level: 'info' });
const server = await startEmbeddedPostgres({ dataDir: process.argv[2]!, clock: systemClock, log });
const { url, pid, watchdogPid, replacedOrphan, clusterDirectory } = server;
process.stdout.write(`${JSON.stringify({ url, pid, watchdogPid, replacedOrphan, clusterDirectory })}\n`);
process.stdin.resume();
process.stdin.on('end', () => void server.stop());
