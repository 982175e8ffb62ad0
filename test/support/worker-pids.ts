/** Process ids of the workers in a log that have listened, worker 1 first. */
export function workerPids(log: string): number[] {
  const lines = log.match(/^.*"Server listening at .*$/gm) ?? [];
  return lines.map((line) => Number(/"instance":"[^"]*:(\d+)"/.exec(line)?.[1]));
}
