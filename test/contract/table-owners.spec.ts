import { readFileSync } from 'node:fs';
import { sourceFiles } from '../support/sources';

const write = /\b(?:insert into|delete from|update(?= \w+(?: as \w+)?\s+set\b)|merge into|truncate) (\w+)/g;
const entity = /@Entity\('(\w+)'\)/g;

/** Returns the owner of each table from the list in docs/architecture.md. */
function documentedOwners(): Map<string, string> {
  const section = readFileSync('docs/architecture.md', 'utf8').split('\n## Tables\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| `([a-z-]+)\/` \| (.+) \|$/gm)];
  return new Map(
    rows.flatMap(([, folder = '', tables = '']) =>
      [...tables.matchAll(/`(\w+)`/g)].map(([, table = '']): [string, string] => [table, folder]),
    ),
  );
}

/** Returns `folder table` for each match of a pattern in the source files. */
function mentions(pattern: RegExp): string[] {
  const found = sourceFiles().flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([, table]) => `${path.split('/')[1]} ${table}`),
  );
  return [...new Set(found)].sort();
}

describe('the owners of tables', () => {
  const owners = documentedOwners();
  const isOwner = (mention: string) => {
    const [folder = '', table = ''] = mention.split(' ');
    return owners.get(table) === folder;
  };

  it('are documented for each entity', () => {
    const declared = mentions(entity);
    expect(declared).not.toEqual([]);
    expect(declared.filter((mention) => !isOwner(mention))).toEqual([]);
  });

  it('are the only folders with statements that write these tables', () => {
    const written = mentions(write);
    expect(written.filter(isOwner)).not.toEqual([]);
    expect(written.filter((mention) => !isOwner(mention))).toEqual([]);
  });
});
