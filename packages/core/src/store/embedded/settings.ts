import { totalmem } from 'node:os';

export interface ServerSettings {
  socketDirectory: string;
  port: number;
  /** Also listen on 127.0.0.1; otherwise only on the Unix socket. */
  tcp: boolean;
  maxConnections: number;
  fsync: boolean;
}

const MIB = 1024 * 1024;

/** Builds `heddle.conf`, which the server's `postgresql.conf` includes. Each setting has its reason beside it. */
export function settingsText(settings: ServerSettings, memoryBytes = totalmem()): string {
  const sharedBuffers = Math.max(32, Math.min(256, Math.floor(memoryBytes / 8 / MIB)));
  const lines: [setting: string, value: string, reason: string][] = [
    ['listen_addresses', settings.tcp ? '127.0.0.1' : '', 'reachable from this machine only'],
    ['port', String(settings.port), 'part of the name of the socket'],
    ['unix_socket_directories', settings.socketDirectory, 'a directory that others cannot enter'],
    ['unix_socket_permissions', '0700', 'the same, should the directory ever be opened'],
    ['max_connections', String(settings.maxConnections), 'pools of a few processes; each slot costs memory'],
    ['fsync', settings.fsync ? 'on' : 'off', 'what was acknowledged survives a loss of power'],
    ['full_page_writes', settings.fsync ? 'on' : 'off', 'against pages that a loss of power tears'],
    ['shared_buffers', `${sharedBuffers}MB`, 'the hot tables fit; more would be taken from the system cache'],
    ['effective_cache_size', `${Math.max(128, Math.floor(memoryBytes / 2 / MIB))}MB`, 'what the system caches for us'],
    ['work_mem', '16MB', 'sets of thousands of rows are sorted and hashed without files'],
    ['maintenance_work_mem', '128MB', 'vacuum of the task table in one pass'],
    ['max_wal_size', '2GB', 'bursts of inserts do not force checkpoints, each of which makes full page images'],
    ['min_wal_size', '256MB', 'segments are reused instead of created'],
    ['checkpoint_timeout', '15min', 'fewer full page images; recovery stays within seconds'],
    ['wal_buffers', '16MB', 'large sets commit without waiting for their own log writes'],
    ['wal_level', 'replica', 'backups by streaming stay possible'],
    ['max_wal_senders', '2', 'one backup at a time and a spare'],
    ['random_page_cost', '1.1', 'disks of today have no heads'],
    ['jit', 'off', 'short set-based statements cost more to compile than to run'],
    ['max_parallel_workers_per_gather', '0', 'short statements; parallel ones need shared memory that containers lack'],
    ['autovacuum_naptime', '10s', 'task and ready rows die by the thousand a second'],
    ['autovacuum_vacuum_scale_factor', '0.05', 'the same'],
    ['autovacuum_vacuum_cost_limit', '2000', 'vacuum must keep up with the engine'],
    ['timezone', 'UTC', 'independent of the machine'],
    ['log_timezone', 'UTC', 'the same'],
    ['log_line_prefix', '%m [%p] %u ', 'when, which process, who'],
    ['log_min_messages', 'warning', 'the log is for trouble'],
    ['log_checkpoints', 'off', 'the log is for trouble'],
    ['log_autovacuum_min_duration', '-1', 'the log is for trouble'],
    ['log_lock_waits', 'on', 'a wait for a lock beyond a second is trouble'],
  ];
  return lines
    .map(([setting, value, reason]) => `${setting} = '${value.replaceAll("'", "''")}'  # ${reason}\n`)
    .join('');
}
