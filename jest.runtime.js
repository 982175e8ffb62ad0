const { createRequire, isBuiltin } = require('node:module');
const { dirname, join } = require('node:path');
const vm = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/**
 * Packages that each test file loads separately. TypeORM loads the entities of the service,
 * prom-client has one register of metrics, and test files replace functions of `@node-rs`.
 */
const separate =
  /^(@nestjs-cls\/transactional-adapter-typeorm|@nestjs\/typeorm|@node-rs|prom-client|typeorm|@jest|jest-)/;

/** Module that compiles `openapi.json` into validators. A worker loads it only once. */
const documentModule = join(__dirname, 'test/support/document.ts');
/** @type {unknown} */
let documentExports;

/** @type {Map<string, string>} */
const sources = new Map();
/** @type {Map<string, object>} */
const transformed = new Map();
/** @type {Map<string, { code: string, cachedData: Buffer | undefined }>} */
const compiled = new Map();

const { compileFunction } = vm;
/**
 * Compiles a module with the code cache of V8, in the realm of the worker (jest.environment.js).
 * @type {typeof compileFunction}
 */
vm.compileFunction = (code, parameters, given) => {
  const options = { ...given, parsingContext: undefined };
  const path = options.filename ?? '';
  const known = compiled.get(path);
  if (known?.code === code) return compileFunction(code, parameters, { ...options, cachedData: known.cachedData });
  const result = compileFunction(code, parameters, { ...options, produceCachedData: true });
  compiled.set(path, { code, cachedData: result.cachedData });
  return result;
};

/**
 * Loads the 2,000 modules of the service in a third of the time: a worker loads most packages once
 * instead of once per test file, and reads and compiles other modules once. Each test file still
 * has separate modules of the service.
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
    const isShared = /^[@a-z]/.test(name) && !isBuiltin(name) && !separate.test(name);
    if (isShared) return createRequire(from)(name);
    if (`${join(dirname(from), name)}.ts` !== documentModule) return super.requireModuleOrMock(from, name);
    documentExports ??= super.requireModuleOrMock(from, name);
    return documentExports;
  }
};
