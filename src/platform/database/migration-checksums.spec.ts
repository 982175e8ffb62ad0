import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** Written by `cd migrations && sha256sum *.ts baseline/*.ts`. */
const checksums = 'migrations/checksums.txt';

describe('migrations/checksums.txt', () => {
  it('has one line for each migration, which never changes after a release', () => {
    const actual = readdirSync('migrations', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .sort()
      .map(
        (file) =>
          `${createHash('sha256')
            .update(readFileSync(`migrations/${file}`))
            .digest('hex')}  ${file}`,
      );
    expect(readFileSync(checksums, 'utf8').trimEnd().split('\n')).toEqual(actual);
  });
});
