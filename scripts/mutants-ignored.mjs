/** Matches the beginning of an error text for people. No code reads these texts. */
const FAULT = /^(must|is|has|contains|exceeds|cannot|members are|the page was|Too many) /;
/** Tables of data. A small test could only repeat them. Other tests compare them with files. */
const TABLES = [
  ...['userFields', 'ownText', 'shared', 'fields', 'found', 'userList', 'deletedUserList'],
  ...['ownPermissions', 'permissionItems', 'newPrefixParameter'],
];
/** Properties with texts of the OpenAPI document. `npm run generate:check` compares the texts. */
const DOCUMENTED = ['meaning', 'example', 'description'];

function textOf({ type, value, quasis }) {
  if (type === 'StringLiteral') return value;
  return type === 'TemplateLiteral' ? quasis[0].value.raw : '';
}

/** Returns the reason why a node gets no mutants, or undefined. */
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
