const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/**
 * Runs the test files in the realm of the worker instead of one realm each. Only then can the files
 * share packages (jest.runtime.js): `instanceof Error` is false for an error of another realm.
 * Removes the global variables, mocks and environment variables of a file at its end.
 */
module.exports = class {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  /** fake timers of the old kind, which no test uses */
  fakeTimers = null;
  /** @type {object | null} */
  context = {};
  #names = new Set(Reflect.ownKeys(globalThis));
  #variables = { ...process.env };
  #exit = process.exit;
  #console = globalThis.console;
  #prepareStackTrace = Error.prepareStackTrace;

  /** @typedef {ConstructorParameters<typeof ModernFakeTimers>[0]["config"]} ProjectConfig */
  /** @param {{ projectConfig: ProjectConfig }} given */
  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {
    Error.stackTraceLimit = 100;
  }

  async teardown() {
    this.context = null;
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    for (const name of Reflect.ownKeys(globalThis)) {
      // Node.js stores the connections of `fetch` in a global variable, once per process.
      const ofNode = String(name).startsWith('Symbol(undici.');
      if (!ofNode && !this.#names.has(name)) Reflect.deleteProperty(globalThis, name);
    }
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) delete process.env[name];
    Object.assign(process.env, this.#variables);
    process.exit = this.#exit;
    globalThis.console = this.#console;
    Error.prepareStackTrace = this.#prepareStackTrace;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Returns null after the end of the file: Jest then loads no more modules for it. */
  getVmContext() {
    return this.context;
  }
};
