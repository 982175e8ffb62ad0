/** Begins a text that says what is wrong with a value, for people. No code reads these texts. */
const FAULT = /^(must|is|has|contains|exceeds|cannot|members are|the page was|Too many) /;
/** Tables of data. A test could only repeat them; other tests compare them with other files. */
const TABLES = [
  ...['userFields', 'ownText', 'shared', 'fields', 'found', 'userList', 'deletedUserList'],
  ...['ownPermissions', 'permissionItems', 'newPrefixParameter'],
];
/** Properties with a text of the OpenAPI document, which `npm run generate:check` compares. */
const DOCUMENTED = ['meaning', 'example', 'description'];

function textOf({ type, value, quasis }) {
  if (type === 'StringLiteral') return value;
  return type === 'TemplateLiteral' ? quasis[0].value.raw : '';
}

/** Returns why a part of a file has no mutants, or undefined. */
function shouldIgnore({ node, parent }) {
  if (FAULT.test(textOf(node))) return 'a text for people';
  if (parent?.type === 'ObjectProperty' && parent.value === node && DOCUMENTED.includes(parent.key.name))
    return 'a text of the OpenAPI document';
  if (parent?.callee?.name === 'namedEnum') return 'an enum of the OpenAPI document';
  if (node.type === 'VariableDeclarator' && TABLES.includes(node.id.name)) return 'a table of data';
  return undefined;
}

/** Plugins of this file for Stryker. */
export const strykerPlugins = [{ kind: 'Ignore', name: 'texts and tables', value: { shouldIgnore } }];
