// Adds optional packages that npm dropped from package-lock.json.
// npm drops an optional package while the registry cannot serve its version, which happens with new
// builds for other platforms. `npm ci` then rejects the lock file on every machine ("Missing: …
// from lock file"). Run this script after each `npm install` that changes the lock file:
// `node scripts/complete-lock.js [file]`.
const fs = require('node:fs');

const OS = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'win32',
  'openbsd',
  'netbsd',
  'sunos',
  'aix',
  'openharmony',
  'wasm32',
];
const CPU = ['x64', 'arm64', 'arm', 'ia32', 'ppc64', 's390x', 'riscv64', 'loong64', 'mips64el', 'wasm32'];

const file = process.argv[2] ?? 'package-lock.json';
const lock = JSON.parse(fs.readFileSync(file, 'utf8'));

/** Returns whether Node finds a package from `location` in a node_modules folder above it. */
function isLocked(name, location) {
  if (lock.packages[`${location ? `${location}/` : ''}node_modules/${name}`]) return true;
  if (!location) return false;
  return isLocked(name, location.slice(0, Math.max(0, location.lastIndexOf('/node_modules/'))));
}

/** Returns the platforms in the name of a package: `@swc/core-linux-arm64-gnu` → linux, arm64. */
function platformsOf(name) {
  const named = (platform) => new RegExp(`(^|[-/])${platform}(-|$)`).test(name);
  const cpu = CPU.filter(named);
  if (cpu.length === 0 && /eabi/.test(name)) cpu.push('arm');
  return { os: OS.filter(named), cpu };
}

function entryFor(name, version, parent) {
  const { os, cpu } = platformsOf(name);
  return {
    version,
    ...(cpu.length && { cpu }),
    ...(parent.dev && { dev: true }),
    license: parent.license,
    optional: true,
    ...(os.length && { os }),
  };
}

let added = 0;
for (const [location, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if (isLocked(name, location)) continue;
    if (!/^\d+\.\d+\.\d+/.test(version)) {
      console.log('skipped, not an exact version:', location, name, version);
      continue;
    }
    lock.packages[`node_modules/${name}`] = entryFor(name, version, parent);
    added += 1;
  }
}

const byLocation = ([a], [b]) => (a < b ? -1 : 1);
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(byLocation));
fs.writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`added ${added}`);
