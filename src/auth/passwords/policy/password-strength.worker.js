// The thread of `password-strength.ts`, in JavaScript: tests start it without a build.
const { parentPort } = require('node:worker_threads');
const { ZxcvbnFactory } = require('@zxcvbn-ts/core');
const common = require('@zxcvbn-ts/language-common');
const english = require('@zxcvbn-ts/language-en');

/**
 * Number of ways to read a password without substitutions such as `4` for `a`. With the default of
 * 100, a random password of 64 characters takes half a second; with 10, less than 0.1 s.
 */
const l33tMaxSubstitutions = 10;

const zxcvbn = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary },
  graphs: common.adjacencyGraphs,
  l33tMaxSubstitutions,
});

parentPort.on('message', ({ password, words }) => {
  const { score, feedback } = zxcvbn.check(password, words);
  parentPort.postMessage({ score, feedback: [feedback.warning, ...feedback.suggestions] });
});

// The first check compiles the code and takes far longer than any other.
zxcvbn.check('p4ssw0rd 1999-12-31 qwerty abcabc');
parentPort.postMessage('ready');
