/**
 * ESLint rule: every export, and every field of an exported class in a `*.dto.ts` file, has a
 * docstring. DTO docstrings become the text of the OpenAPI document.
 */

/** Returns the first token. Decorators before `export` are outside the range of the statement. */
function firstToken(node, sourceCode) {
  const decorators = [...(node.decorators ?? []), ...(node.declaration?.decorators ?? [])];
  const [start] = [node, ...decorators].sort((a, b) => a.range[0] - b.range[0]);
  return sourceCode.getFirstToken(start);
}

function hasDocstring(node, sourceCode) {
  const isDocstring = (comment) => comment.type === 'Block' && /^\*[\s*]*[^\s*]/.test(comment.value);
  return sourceCode.getCommentsBefore(firstToken(node, sourceCode)).some(isDocstring);
}

/**
 * Returns the statement that declares `a` in `export { a }`, or undefined if another check or
 * another file covers it.
 */
function declarationOf(specifier, sourceCode) {
  const definition = sourceCode.scopeManager.globalScope.childScopes[0].set.get(specifier.local.name)?.defs[0];
  const declaration = definition?.type === 'Variable' ? definition.parent : definition?.node;
  return declaration?.parent?.type === 'Program' ? declaration : undefined;
}

/** Overloads share the docstring of the first signature. */
function isLaterOverload(node) {
  const name = node.declaration.id?.name;
  const before = node.parent.body[node.parent.body.indexOf(node) - 1];
  return before?.declaration?.type === 'TSDeclareFunction' && before.declaration.id.name === name;
}

function nameOf(declaration) {
  return declaration.id?.name ?? declaration.declarations?.map(({ id }) => id.name ?? 'this').join(', ') ?? 'this';
}

export const docstrings = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      export: 'Export {{name}} needs a /** docstring */: what it does for the caller.',
      field: 'DTO field {{name}} needs a /** docstring */: it becomes the OpenAPI text.',
    },
  },
  create(context) {
    const { sourceCode } = context;

    function checkFields(node) {
      if (!context.filename.endsWith('.dto.ts') || node.type !== 'ClassDeclaration') return;
      for (const field of node.body.body) {
        if (field.type !== 'PropertyDefinition' || hasDocstring(field, sourceCode)) continue;
        context.report({ node: field.key, messageId: 'field', data: { name: sourceCode.getText(field.key) } });
      }
    }

    function check(statement, declaration) {
      if (!hasDocstring(statement, sourceCode)) {
        context.report({
          node: declaration.id ?? declaration,
          messageId: 'export',
          data: { name: nameOf(declaration) },
        });
      }
      checkFields(declaration);
    }

    return {
      ExportNamedDeclaration(node) {
        if (node.source) return;
        if (node.declaration && !isLaterOverload(node)) check(node, node.declaration);
        for (const specifier of node.specifiers) {
          const declaration = declarationOf(specifier, sourceCode);
          if (declaration) check(declaration, declaration);
        }
      },
      ExportDefaultDeclaration(node) {
        check(node, node.declaration);
      },
    };
  },
};
