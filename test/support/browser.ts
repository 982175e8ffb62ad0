import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const find = () => places.find((place) => place !== '' && existsSync(place));

/**
 * Starts a real browser. On Debian as root (as in CI) it is installed if missing.
 * @throws with instructions for the installation
 */
export async function openBrowser(): Promise<Browser> {
  if (find() === undefined && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) install();
  const executablePath = find();
  if (executablePath === undefined)
    throw new Error(
      'This test needs Chromium. Install it (Debian, Ubuntu: `apt-get install chromium`), ' +
        'or set CHROMIUM to the path of its program.',
    );
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

function install(): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['update', '-q'], { env, stdio: 'ignore' });
  execFileSync('apt-get', ['install', '-q', '-y', '--no-install-recommends', 'chromium'], { env, stdio: 'ignore' });
}
