// The programs that the drill needs: packages of Debian 12 are etcd-server, patroni, postgresql-15,
// haproxy and pgbouncer.
const { execFileSync } = require('node:child_process');
const { existsSync, readdirSync } = require('node:fs');
const path = require('node:path');

const DEBIAN = '/usr/lib/postgresql';
const POSTGRES_MIN = 15;

/** Directories of programs. Those of daemons are often missing in the PATH of a user. */
const directories = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];

function find(program) {
  return directories.map((directory) => path.join(directory, program)).find((file) => existsSync(file));
}

/** Returns the directory with the programs of the latest PostgreSQL server. */
function findPostgres() {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number) : [];
  const latest = versions.filter((version) => version >= POSTGRES_MIN).sort((one, other) => other - one)[0];
  if (latest !== undefined) return path.join(DEBIAN, String(latest), 'bin');
  const server = find('postgres');
  return server === undefined ? undefined : path.dirname(server);
}

const programs = {
  etcd: find('etcd'),
  patroni: find('patroni'),
  haproxy: find('haproxy'),
  pgbouncer: find('pgbouncer'),
  postgres: findPostgres(),
};

/** Returns the names of programs that a variant of the drill needs and this machine lacks. */
function missingPrograms(variant) {
  const balancers = { haproxy: ['haproxy'], pgbouncer: ['haproxy', 'pgbouncer'], hosts: [] }[variant];
  return ['etcd', 'patroni', 'postgres', ...balancers].filter((name) => programs[name] === undefined);
}

/**
 * Returns whether Patroni has to use version 2 of the API of etcd. Before 3.0.3, a primary that
 * wakes up overwrites the lock of its successor with version 3.
 * @see https://github.com/patroni/patroni/pull/2689
 */
function needsEtcd2() {
  const [, ...numbers] = /(\d+)\.(\d+)\.(\d+)/.exec(
    execFileSync(programs.patroni, ['--version'], { encoding: 'utf8' }),
  );
  const [major, minor, patch] = numbers.map(Number);
  return major < 3 || (major === 3 && minor === 0 && patch < 3);
}

/** Returns the account of servers that refuse to run as root. */
function serverAccount() {
  if (process.getuid() !== 0) return {};
  const id = (option) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

module.exports = { missingPrograms, needsEtcd2, programs, serverAccount };
