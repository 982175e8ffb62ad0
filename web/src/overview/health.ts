import type { Schema } from '../api/client';

/** The state of the parts of the service. */
export type Health = Schema<'ServiceHealthResponse'>;
/** A part of the service. */
export type Part = keyof Health;
/** The state of a part. */
export type HealthState = Health['jobs']['state'];

/** A problem of a part that the list of items that need attention does not contain. */
export interface PartProblem {
  part: Part;
  state: HealthState;
}

/** The parts in their order, with the page of the console that shows them. */
export const parts: { part: Part; to?: string }[] = [
  { part: 'mail', to: '/mails' },
  { part: 'jobs' },
  { part: 'webhooks', to: '/webhooks' },
  { part: 'database' },
  { part: 'disk' },
];

/**
 * Returns the parts with a problem, the worst first. Leaves out mails and webhooks that fail one by
 * one if an item that needs attention counts them.
 * @param kinds kinds of the items that need attention
 */
export function problemsOf(health: Health | undefined, kinds: readonly string[]): PartProblem[] {
  if (health === undefined) return [];
  const counts = (prefix: string) => kinds.some((kind) => kind.startsWith(prefix));
  const isCounted: Partial<Record<Part, boolean>> = {
    mail: health.mail?.state === 'warning' && counts('mails_'),
    webhooks: (health.webhooks?.disabled ?? 0) + (health.webhooks?.failing ?? 0) > 0 && counts('webhooks_'),
  };
  const found = parts.flatMap(({ part }) => {
    const state = health[part]?.state ?? 'ok';
    return state === 'ok' || isCounted[part] === true ? [] : [{ part, state }];
  });
  return found.sort((one, other) => Number(other.state === 'critical') - Number(one.state === 'critical'));
}
