/** Waits for work, but at most `ms`. Then settles like `late`, while the work continues. */
export function within<Value>(ms: number, work: Promise<Value>, late: () => Value | Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return Promise.race([work, expired.then(late)]).finally(() => clearTimeout(timer));
}
