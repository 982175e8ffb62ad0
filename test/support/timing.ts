/**
 * Returns the probability that a value of the first list exceeds one of the second (AUC). It is 0.5
 * if the lists cannot be distinguished.
 */
export function likelihoodOfMore(first: number[], second: number[]): number {
  const more = first.flatMap((one) => second.map((other): number => (one > other ? 1 : one === other ? 0.5 : 0)));
  return more.reduce((sum, value) => sum + value, 0) / more.length;
}
