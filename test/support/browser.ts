import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [process.env['CHROMIUM'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A real browser of this machine. @throws with the way to get one */
export async function openBrowser(): Promise<Browser> {
  const executablePath = places.find((place) => place !== '' && existsSync(place));
  if (executablePath === undefined)
    throw new Error('This test needs Chromium. Install it (Debian, Ubuntu: `apt-get install chromium`), or name its program in CHROMIUM.');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
