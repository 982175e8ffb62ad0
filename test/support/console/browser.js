const { execFileSync } = require('node:child_process');
const { existsSync, mkdirSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { chromium } = require('playwright-core');

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

/** Directory of the unpacked Chromium of `@sparticuz/chromium`, which is built for x64. */
const unpacked = join(__dirname, '../../node_modules/.cache/chromium');

/**
 * Starts a real browser, in which all hosts below `.test` are this machine: the Chromium of the
 * machine, or otherwise that of the package.
 */
async function openBrowser() {
  const installed = places.find((place) => place !== '' && existsSync(place));
  const { executablePath, env } = installed === undefined ? unpack() : { executablePath: installed, env: {} };
  const disabled = `--disable-features=${disabledFeatures.join(',')}`;
  const hosts = '--host-resolver-rules=MAP *.test 127.0.0.1';
  const args = ['--no-sandbox', disabled, hosts];
  return chromium.launch({ executablePath, args, env: { ...process.env, ...env } });
}

/** Unpacks Chromium and its libraries. Other workers wait, and use the unpacked files. */
function unpack() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('This test needs Chromium. Install it, or set CHROMIUM to the path of its program.');
  mkdirSync(unpacked, { recursive: true });
  const script = "import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())";
  const env = { PATH: process.env['PATH'], TMPDIR: unpacked, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' };
  execFileSync('flock', [unpacked, process.execPath, '--eval', script], { cwd: __dirname, env });
  const fonts = join(unpacked, 'fonts.conf');
  // The configuration of the package only names folders of AWS Lambda.
  writeFileSync(fonts, `<fontconfig><dir>${unpacked}/fonts</dir><dir>/usr/share/fonts</dir></fontconfig>`);
  const libraries = { LD_LIBRARY_PATH: join(unpacked, 'al2023/lib'), FONTCONFIG_FILE: fonts };
  return { executablePath: join(unpacked, 'chromium'), env: libraries };
}

module.exports = { openBrowser };
