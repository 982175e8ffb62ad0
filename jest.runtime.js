const { createRequire } = require('node:module');
const vm = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** Large packages of pure functions. A worker loads them once, outside the sandbox of a file. */
const shared = /^(ajv|ajv-formats|es-toolkit|handlebars|libphonenumber-js|rxjs|semver|validator|zod)(\/|$)/;

/** @type {Map<string, string>} */
const sources = new Map();
/** @type {Map<string, object>} */
const transformed = new Map();
/** @type {Map<string, { code: string, cachedData: Buffer | undefined }>} */
const compiled = new Map();

const { compileFunction } = vm;
/**
 * Compiles a module with the code cache of V8.
 * @type {typeof compileFunction}
 */
vm.compileFunction = (code, parameters, options) => {
  const path = options?.filename ?? '';
  const known = compiled.get(path);
  if (known?.code === code) return compileFunction(code, parameters, { ...options, cachedData: known.cachedData });
  const result = compileFunction(code, parameters, { ...options, produceCachedData: true });
  compiled.set(path, { code, cachedData: result.cachedData });
  return result;
};

/**
 * Loads the 2,000 modules of the service in half the time: a worker reads and compiles a module
 * once instead of once per test file. Each test file still has separate modules, apart from
 * `shared`.
 */
module.exports = class extends Runtime {
  /** @param {ConstructorParameters<typeof Runtime>} given */
  constructor(...given) {
    const [, , , transformer, cacheFS] = given;
    for (const [path, source] of sources) cacheFS.set(path, source);
    const transform = transformer.transform.bind(transformer);
    transformer.transform = (path, options, source = '') => {
      if (!path.includes('/node_modules/')) return transform(path, options, source);
      const result = transformed.get(path) ?? transform(path, options, source);
      transformed.set(path, result);
      sources.set(path, source);
      return result;
    };
    super(...given);
  }

  /**
   * @param {string} from
   * @param {string} name
   */
  requireModuleOrMock(from, name) {
    return shared.test(name) ? createRequire(from)(name) : super.requireModuleOrMock(from, name);
  }
};
