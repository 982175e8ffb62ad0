import { readFileSync } from 'node:fs';

interface Entry {
  name?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
  resolved?: string;
  /** a workspace of this repository */
  link?: boolean;
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Entry> };
const entries = Object.entries(lock.packages).filter(([location]) => location !== '');
/**
 * Returns the name of the package installed at a location. With an override it differs from the
 * path.
 */
const nameOf = ([location, { name }]: [string, Entry]) => name ?? location.split('node_modules/').at(-1);

describe('packages of the lock file', () => {
  it('replaces the install telemetry of swagger-ui-dist, @scarf/scarf, by an inert package', () => {
    expect(entries.map(nameOf)).toContain('swagger-ui-dist');
    // prom-client reads the current trace through this interface, which sends nothing.
    const known = ['@opentelemetry/api'];
    expect(
      entries
        .map((entry) => nameOf(entry) ?? '')
        .filter((name) => /telemetry|scarf/.test(name) && !known.includes(name)),
    ).toEqual([]);
  });

  it('runs no install scripts in a production installation', () => {
    expect(
      entries
        .filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true)
        .map(([location]) => location),
    ).toEqual([]);
  });

  it('names no registry', () => {
    expect(entries.filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual([]);
  });
});
