/* global SwaggerUIBundle, localStorage, sessionStorage */

/**
 * Folds the filters of an operation into one group, after the other parameters.
 * Lists have up to a hundred filters, which would hide the response.
 */
function foldFilters({ React }) {
  const { createElement, createContext, useContext, useState } = React;
  const Group = createContext(null);

  /** Returns the row that opens and closes the group. */
  function heading({ count, open, toggle }) {
    const label = open ? `Hide the ${count} filters` : `Show the ${count} filters`;
    const text = 'All filters are optional. An item must match all filters that you set.';
    const button = createElement(
      'button',
      { type: 'button', className: 'btn', 'aria-expanded': open, onClick: toggle },
      label,
    );
    return createElement(
      'tr',
      { key: 'heading', className: 'filters' },
      createElement(
        'td',
        { colSpan: 2 },
        createElement('strong', null, 'Filters '),
        button,
        createElement('p', null, text),
      ),
    );
  }

  return {
    wrapComponents: {
      parameters: (Original) =>
        function Parameters(props) {
          const [open, setOpen] = useState(false);
          const filters = props.parameters.filter((parameter) => parameter.has('x-filter'));
          const group = { first: filters.first(), count: filters.size, open, toggle: () => setOpen(!open) };
          return createElement(Group.Provider, { value: group }, createElement(Original, props));
        },
      parameterRow: (Original) =>
        function ParameterRow(props) {
          const group = useContext(Group);
          if (group === null || !props.rawParam.has('x-filter')) return createElement(Original, props);
          const isFirst = props.rawParam.get('name') === group.first.get('name');
          const row = group.open ? createElement(Original, { key: 'row', ...props }) : null;
          return createElement(React.Fragment, null, isFirst ? heading(group) : null, row);
        },
    },
  };
}

/**
 * Keeps the token or API key for a reload in the session storage, which ends with the tab. Swagger
 * UI would keep it in the local storage, also for later visitors of the browser.
 */
function keepTokenInTab() {
  const key = 'authorized';
  // Earlier versions of this page left the token there.
  localStorage.removeItem(key);
  const persistAuthorizationIfNeeded =
    (_original, { authSelectors }) =>
    () =>
      sessionStorage.setItem(key, JSON.stringify(authSelectors.authorized().toJS()));
  const loaded =
    (original, { authActions }) =>
    () => {
      original();
      const kept = sessionStorage.getItem(key);
      if (kept !== null) authActions.restoreAuthorization({ authorized: JSON.parse(kept) });
    };
  return {
    statePlugins: {
      auth: { wrapActions: { persistAuthorizationIfNeeded } },
      configs: { wrapActions: { loaded } },
    },
  };
}

/**
 * Moves the examples of optional parameters into their descriptions.
 * Swagger UI would fill the examples in, and a request would send a hundred filters.
 */
function keepOptionalParametersEmpty(document) {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const parameters = [...Object.values(document.components.parameters), ...operations.flatMap((one) => one.parameters)];
  for (const parameter of parameters) {
    if (parameter.required === true || parameter.example === undefined) continue;
    const text = [parameter.example].flat().join(',');
    parameter.description = `${parameter.description}. Example: \`${text}\``.replace('..', '.');
    delete parameter.example;
  }
  return document;
}

/** Appends the tags without operations, which Swagger UI hides, to the description. */
function showChapters(document) {
  const chapters = document.tags.filter((tag) => tag['x-traitTag'] === true);
  document.info.description = [document.info, ...chapters].map(({ description }) => description).join('\n\n');
  return document;
}

/** Adds `aria-label` to the buttons and fields of Swagger UI that have no label. */
function nameControls(root) {
  for (const button of root.querySelectorAll('.close-modal:not([aria-label])'))
    button.setAttribute('aria-label', 'Close');
  for (const field of root.querySelectorAll(':is(select, input, textarea):not([aria-label])')) {
    if ([...(field.labels ?? [])].some((label) => !label.contains(field))) continue;
    const row = field.closest('[data-param-name]');
    field.setAttribute('aria-label', row?.dataset.paramName ?? (field.placeholder || field.id || 'Value'));
  }
}

async function start() {
  const root = document.getElementById('explorer');
  const response = await fetch(root.dataset.document);
  SwaggerUIBundle({
    domNode: root,
    spec: showChapters(keepOptionalParametersEmpty(await response.json())),
    plugins: [foldFilters, keepTokenInTab],
    deepLinking: true,
    displayRequestDuration: true,
    filter: true,
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
  });
  new MutationObserver(() => nameControls(root)).observe(root, { childList: true, subtree: true });
}

void start();
