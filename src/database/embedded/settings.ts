/** How a new cluster is made. The builtin provider sorts the same on every system and under every C library. */
export const INITDB_OPTIONS: readonly string[] = [
  '--username=postgres',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  // The socket lies in a folder that only its owner can enter; over TCP there is a password.
  '--auth-local=trust',
  '--auth-host=scram-sha-256',
  '--no-instructions'
]

/**
 * Settings of the running cluster, given at every start so that they follow the program and not the day of the first
 * start.
 */
export const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  cluster_name: 'locanda',
  max_connections: '100',
  shared_buffers: '128MB',
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
  // Of one process: a statement that sorts without end does not fill the disk on which the ledger lies.
  temp_file_limit: '2GB',
  // Guests' data stay out of the log: no statements, no values of violated constraints.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // The message of an error holds values, too, and a statement can raise as many messages as it likes.
  log_min_messages: 'fatal',
  log_checkpoints: 'off',
  unix_socket_permissions: '0700'
}
