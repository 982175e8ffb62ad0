import Bowser from 'bowser';
import { LRUCache } from 'lru-cache';

/** Parts of a user agent, for display only: a client can send any user agent. */
export interface UserAgentParts {
  browser: string | null;
  os: string | null;
  device: string | null;
}

/**
 * Maximum number of characters to parse. The time of the parser grows with the square of the
 * length; this limit takes 0.2 ms at worst. Real user agents have all parts within this limit.
 */
const parsedCharacters = 256;
const nameMax = 40;
/** Parsed user agents, half a megabyte at most. Many sessions share few user agents. */
const known = new LRUCache<string, UserAgentParts>({ max: 1_000 });

/** Versions that browsers report for every version of an operating system. */
const frozen = [
  { os: 'Windows', version: /^NT 10\.0$/, shown: 'Windows 10 or 11' },
  { os: 'macOS', version: /^10\.15/, shown: 'macOS' },
  { os: 'Android', version: /^10$/, shown: 'Android' },
];
/** Programs start with their name and version; all browsers start with `Mozilla`. */
const program = /^(?!Mozilla\/|Opera\/)([A-Za-z][\w.+-]{0,39})(?:\/(\d{1,9}))?(?=[/.\s;]|$)/;

/** Returns browser, operating system and kind of device; null if unknown. */
export function partsOf(user_agent: string | null): UserAgentParts {
  if (user_agent === null) return { browser: null, os: null, device: null };
  const text = user_agent.slice(0, parsedCharacters);
  const parts = known.get(text) ?? parse(text);
  known.set(text, parts);
  return parts;
}

function parse(text: string): UserAgentParts {
  const { browser, os, platform } = Bowser.parse(text);
  const [, name, version] = program.exec(text) ?? [];
  const own = name === undefined ? null : named(name, version);
  return { browser: own ?? browserOf(browser), os: systemOf(os), device: platform.type ?? null };
}

function browserOf({ name, version }: Bowser.Parser.Details): string | null {
  // The parser returns this name for unknown user agents.
  return name === 'Mozilla' ? null : named(name, majorOf(version));
}

function systemOf({ name, version, versionName }: Bowser.Parser.OSDetails): string | null {
  const match = frozen.find((entry) => entry.os === name && entry.version.test(version ?? ''));
  if (match !== undefined) return match.shown;
  return named(name, name === 'Windows' ? versionName : majorOf(version));
}

function named(name: string | undefined, version: string | undefined): string | null {
  if (name === undefined || name === '' || name.length > nameMax) return null;
  return version === undefined || version === '' ? name : `${name} ${version.slice(0, nameMax)}`;
}

function majorOf(version: string | undefined): string | undefined {
  return /^\d{1,9}/.exec(version ?? '')?.[0];
}
