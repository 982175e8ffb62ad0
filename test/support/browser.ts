import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/**
 * Features that send requests of their own or rewrite URLs, and the address bar, which takes half
 * of the processor time of a page. Chromium reads the last list only: this one replaces that of
 * Playwright.
 */
const disabledFeatures = [
  'AimEnabled',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PreconnectToSearch',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'WebUIOmniboxPopup',
];

const find = () => places.find((place) => place !== '' && existsSync(place));

/**
 * Starts a real browser, in which all hosts below `.test` are this machine. On Debian as root (as
 * in CI), installs the browser if it is missing.
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
  const disabled = `--disable-features=${disabledFeatures.join(',')}`;
  const hosts = '--host-resolver-rules=MAP *.test 127.0.0.1';
  return chromium.launch({ executablePath, args: ['--no-sandbox', disabled, hosts] });
}

/** Installs Chromium. Only one worker does so: apt-get fails while another one runs. */
function install(): void {
  const script = 'command -v chromium || (apt-get update -q && apt-get install -q -y --no-install-recommends chromium)';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('flock', ['/var/lib/apt/lists', 'sh', '-c', script], { env, stdio: 'ignore' });
}
