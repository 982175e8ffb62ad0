// Loaded into a service under test before its main module. While the working directory contains
// the file `hold-hashes`, new hashes wait; while it contains `fail-hashes`, they fail.
const { existsSync } = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { isMainThread } = require('node:worker_threads');

// Threads of the service load this file as well.
if (isMainThread) {
  const argon2 = require('@node-rs/argon2');
  const { hash } = argon2;
  argon2.hash = async (...parameters) => {
    while (existsSync('hold-hashes')) await delay(20);
    if (existsSync('fail-hashes')) throw new Error('hashing fails');
    return hash(...parameters);
  };
}
