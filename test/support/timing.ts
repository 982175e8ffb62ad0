/**
 * Probability that a value of the first list exceeds one of the second (AUC): 0.5 when they cannot
 * be told apart.
 */
export function likelihoodOfMore(first: number[], second: number[]): number {
  const more = first.flatMap((one) => second.map((other): number => (one > other ? 1 : one === other ? 0.5 : 0)));
  return more.reduce((sum, value) => sum + value, 0) / more.length;
}
