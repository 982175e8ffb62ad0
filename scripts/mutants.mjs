import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';

/**
 * Files whose rules need no database, by group and folder. The files in one string share the spec
 * of the first file. Each string is a separate run, because Jest loads the specs for each mutant.
 */
const GROUPS = {
  lists: { 'src/http/lists': ['filter', 'filter-value', 'list-query cursor boolean-parameter'] },
  access: { 'src/access': ['actor fresh', 'admission', 'grant', 'permissions', 'scope', 'token-grant'] },
  users: {
    'src/users': ['user-fields', 'user-list'],
    'src/users/bulk': ['bulk-query', 'confirm-tokens'],
    'src/users/changes': ['user-change'],
  },
  transfer: {
    'src/users/transfer': ['import-rows'],
    'src/users/transfer/files': ['csv-cells', 'csv-dialect', 'failed-rows', 'import-file', 'paced'],
  },
  factors: {
    'src/auth/second-factors': ['factor-secrets'],
    'src/auth/second-factors/codes': ['recovery-codes', 'totp'],
    'src/auth/second-factors/passkeys': ['passkey-challenges', 'passkey-responses passkey-verification'],
  },
  tokens: {
    'src/auth/sessions': ['refresh-token'],
    'src/auth/tokens': ['access-tokens verified-tokens', 'request-tokens', 'refresh-cookie'],
  },
  logins: { 'src/auth/tokens': ['live-logins.service'] },
};

const DETECTED = ['Killed', 'Timeout'];
const MISSED = ['Survived', 'NoCoverage'];

/** Mutates files of a folder, and runs the spec of the first file for each mutant. */
async function run(folder, names) {
  const stryker = new Stryker({
    mutate: names.map((name) => `${folder}/${name}.ts`),
    testRunner: 'jest',
    jest: {
      configFile: 'jest.small.config.js',
      config: { testRegex: [], testMatch: [`**/${folder}/${names[0]}.spec.ts`] },
      enableFindRelatedTests: false,
    },
    plugins: ['@stryker-mutator/jest-runner', join(import.meta.dirname, 'mutants-ignored.mjs')],
    ignorers: ['texts and tables'],
    coverageAnalysis: 'perTest',
    concurrency: 1,
    // The sandbox contains only files that the specs load. Other tools do not search its folder.
    ignorePatterns: ['**', '!src/**', '!jest*.js', '!package.json', '!tsconfig.json'],
    tempDirName: join(tmpdir(), 'carrier-identity-mutants'),
    reporters: [],
    logLevel: 'error',
    allowConsoleColors: false,
  });
  return stryker.runMutationTest();
}

const isOneOf =
  (statuses) =>
  ({ status }) =>
    statuses.includes(status);

/** Prints a mutant that no test detected: its place, the original code and the replacement. */
function describe({ fileName, location: { start, end }, replacement = '', status }) {
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  const code = [...lines.slice(0, -1), lines.at(-1).slice(0, end.column - 1)].join(' ').slice(start.column - 1);
  const brief = (text) => text.replace(/\s+/g, ' ').slice(0, 80);
  const place = `${relative('.', fileName)}:${start.line}:${start.column}`;
  console.log(`${place} ${status === 'Survived' ? '' : '(no test) '}${brief(code)}  ->  ${brief(replacement)}`);
}

/** Mutates the files of a group, and prints the survivors and the score. */
async function runGroup(group, only) {
  const mutants = [];
  for (const [folder, files] of Object.entries(GROUPS[group]))
    for (const names of files.map((text) => text.split(' ')))
      if (only.length === 0 || names.some((name) => only.includes(name))) mutants.push(...(await run(folder, names)));
  mutants.filter(isOneOf(MISSED)).forEach(describe);
  const [detected, missed] = [DETECTED, MISSED].map((statuses) => mutants.filter(isOneOf(statuses)).length);
  const score = ((100 * detected) / (detected + missed)).toFixed(1);
  console.log(`${group}: ${score} % of ${detected + missed} mutants detected, ${missed} survived`);
}

const given = process.argv.slice(2);
const groups = Object.keys(GROUPS).filter((group) => given.includes(group));
const only = given.filter((name) => !(name in GROUPS));
for (const group of groups.length > 0 ? groups : Object.keys(GROUPS)) await runGroup(group, only);
