import { exchanges } from './client';
import { processes } from './process/service-process';

/** Prints the last requests of a failed test, their responses and the log lines about them. */
afterEach(() => {
  const { assertionCalls, numPassingAsserts, currentTestName } = expect.getState() as unknown as Record<
    string,
    number | string
  >;
  if (assertionCalls === numPassingAsserts || exchanges.length === 0) return;
  const log = [...processes].flatMap((service) => service.output.split('\n'));
  const lines = exchanges.flatMap(({ request, response, request_id }) => [
    `> ${request}`,
    `< ${response}`,
    ...log.filter((line) => line.includes(request_id)),
  ]);
  process.stderr.write(`The last requests of “${String(currentTestName)}”:\n${lines.join('\n')}\n`);
});
