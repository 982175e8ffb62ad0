// Writes what the console knows about the API, from openapi.json: the types of all operations
// (web/src/api/schema.d.ts) and the filters of each list (web/src/api/filters.ts).
// With `--check`, fails if a file is outdated.
import fs from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import prettier from 'prettier';

const root = new URL('../', import.meta.url);
const document = JSON.parse(fs.readFileSync(new URL('openapi.json', root), 'utf8'));
const operators = ['_ne', '_in', '_gt', '_gte', '_lt', '_lte', '_isnull', '_like'];
const banner = '// Generated from openapi.json by `npm run generate`. Do not edit.\n';

/** Follows a reference within the document. */
const resolve = (node) =>
  node?.$ref === undefined
    ? node
    : node.$ref
        .split('/')
        .slice(1)
        .reduce((value, key) => value[key], document);

/** Returns the kind of control that edits values of a schema. */
function fieldOf(reference) {
  const schema = resolve(reference);
  if (schema.enum !== undefined) return { kind: 'choice', choices: schema.enum };
  if (schema.type === 'boolean') return { kind: 'boolean' };
  if (schema.format === 'date-time') return { kind: 'time' };
  if (schema.format === 'uuid') return { kind: 'id' };
  if (schema.type === 'integer') return { kind: 'number' };
  return { kind: 'text' };
}

/** Returns the fields of a list that filters can name, with the operators of each field. */
function filtersOf({ parameters }) {
  const fields = {};
  const filters = parameters.map(resolve).filter((parameter) => 'x-filter' in parameter);
  const names = new Set(filters.map(({ name }) => name));
  for (const { name, schema } of filters) {
    const suffix = operators.find((one) => name.endsWith(one) && names.has(name.slice(0, -one.length))) ?? '';
    const field = name.slice(0, name.length - suffix.length);
    fields[field] ??= { ...fieldOf(schema), operators: [] };
    fields[field].operators.push(suffix);
  }
  return fields;
}

function filtersFile() {
  const lists = Object.values(document.paths)
    .map(({ get }) => get)
    .filter((get) => get?.parameters?.map(resolve).some((parameter) => 'x-filter' in parameter))
    .map((get) => {
      const { operationId } = get;
      const fields = JSON.stringify(filtersOf(get));
      return `/** Filters of \`${operationId}\`. */\nexport const ${operationId}Filters = ${fields} as const;\n`;
    });
  return `${banner}\n${lists.join('\n')}`;
}

const files = {
  'web/src/api/schema.d.ts': banner + astToString(await openapiTS(document)),
  'web/src/api/filters.ts': await prettier.format(filtersFile(), {
    ...JSON.parse(fs.readFileSync(new URL('.prettierrc.json', root), 'utf8')),
    parser: 'typescript',
  }),
};
const read = (file) => (fs.existsSync(new URL(file, root)) ? fs.readFileSync(new URL(file, root), 'utf8') : null);
const stale = Object.entries(files).filter(([file, text]) => read(file) !== text);
if (process.argv.includes('--check') && stale.length > 0) {
  console.error(`outdated: ${stale.map(([file]) => file).join(', ')}; run npm run generate`);
  process.exit(1);
}
for (const [file, text] of stale) fs.writeFileSync(new URL(file, root), text);
