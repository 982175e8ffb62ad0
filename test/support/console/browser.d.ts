import type { Browser } from 'playwright-core';

/** Starts a real browser: the Chromium of the machine, or otherwise that of the package. */
export declare function openBrowser(): Promise<Browser>;
